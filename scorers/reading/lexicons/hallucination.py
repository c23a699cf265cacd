"""Patterns of statements of whether the judged text hallucinates, in English."""

from __future__ import annotations

from halu_tasks.scorers.reading.lexicons import declared
from halu_tasks.scorers.reading.lexicons.declared import DECLARED
from halu_tasks.scorers.reading.lexicons.truth import FALSE, FAULT, TRUE
from halu_tasks.scorers.reading.patterns import expression, ignoring_case, pattern
from halu_tasks.text.folding import any_of

# --- yes and no ---------------------------------------------------------------------------------------

EITHER = r"(?!\s?(?:/|,|and|or)+\s?(?:yes|no)\b|\s?[,:]?\s?(?:if|when|otherwise)\b)"
APART = r"(?=\s?(?:[.,:;!?)–—。]|- |\Z))"
# "No hallucination" is not the answer "no", but a sentence with the same meaning.
WORD = ignoring_case(rf"""
    (?:(?P<yes>(?:yes|yep|yeah|yup)\b{EITHER}|(?:ja|oui|sí|sim|是的?|有){APART})|nope\b|nah\b
    |(?:nein|non|não|否|不是?|没有?|无){APART}|no\b{EITHER}(?!\s\w)|no(?=\s(?:the|it|this|there|i|all|everything)\b))
""")
FILLER = any_of("""
    is are was would should will be the a an that to as with final answer judge?ment it this therefore my
""")
BEFORE = ignoring_case(rf"(?:\W|\b{FILLER}\b)*")
HEDGED = ignoring_case(r"""
    (?:\W|\b(?:most|probably|likely|definitely|certainly|clearly|obviously|unfortunately|sadly
    |I\s(?:think|believe|guess|say))\b)*
""")
ARROW = ignoring_case(r"(?:=>|->|→|⇒)(?=\W{0,4}(?:yes|no)\b)")
MARKED = ignoring_case(rf"""
    {DECLARED.pattern}|\byour\sjudge?ment\b|^a\s?:|\b(?:revised|updated|corrected|new)\s(?:answer|verdict|judge?ment)\b
    |\b(?:verdict|judge?ment|label)\s(?:is|(?:would|should|must) be)\b|\bI(?:'d| would| will| must| have to)\s(?:say
    |answer|judge|reply|respond|conclude|go with)\b|\bI(?:'d| would|'m| am)? (?:lean(?:ing)?|inclined)(?: towards?
    | to(?:wards?)?)?\b|^(?:answer|verdict|judge?ment|hallucination)\s[-–—](?=\s)|(?:答案|判断|结论|结果)(?:是|为|[:：])
    |\bso\s?[:,]|^(?:output|assistant|model|ai)\s?:|^based\son\s[^,]{{3,80}},|^(?:and\s)?(?:therefore|thus|hence|so
    |overall)\b
""")
# "The answer is accurate" may be about the judged answer, so only yes or no is a verdict after these words.
ANSWER_IS = ignoring_case(r"""
    \b(?:answer|response)\s(?:is|remains|(?:would|should|must) be)\b|\bmy\s(?:\w+\s)?answer\b(?:\sis\b)?\W{0,3}
    |\b(?:change|revise|correct)\s(?:my|the)\s(?:\w+\s)?(?:answer|verdict|judge?ment)\s(?:to|into)\b
""")
# "I'm going with No.", "That's a yes from me.", "I would mark this as Yes."
CHOSEN = ignoring_case(r"""
    \b(?:with|as|to be|answer|answering|say|choose|select|pick|vote|answer to [^.]{0,80} is
    |(?:is|it's|that's|call (?:it|this)) an?(?: (?:clear|definite|firm|solid|simple|resounding))?|it's
    |it is)(?=\W{1,4}(?:yes|no)\W*(?:from me\W*)?\Z)
""")
# A conclusion that ends a sentence: "Nothing in it is made up, hence: No", "The year is wrong => Yes"
HENCE = ignoring_case(r"""
    (?:\b(?:so|hence|thus|therefore|then|consequently|meaning)|\bwhich means|\bwhich makes it a)\s?[:,]?(?=\W{0,4}(?:yes
    |no)\b)
""")
AT_END = ignoring_case(r"(?s).{20,}:\W{0,4}(?:(?P<yes>yes)|no)\W*\Z")

# --- words that call the judged text faithful or not --------------------------------------------------

SOURCE = any_of("document source article text passage original context input")
UNFAITHFUL = any_of(rf"""
    hallucinat\w+ problems? issues? unfaithful\w* {FAULT} {FALSE} factually\sincorrect falsely incorrectly wrongly
    inaccurately unfounded ungrounded unverif\w+ unsubstantiated inconsisten\w+ contradict\w* conflict(?:s|ing)?\swith
    conflicting discrepanc\w+ deviat\w+ fabricat\w+ invent(?:s|ed) made[\s-]up mak(?:es|ing)\sup misinformation
    misrepresent\w* misstat\w+ misattribut\w+ distort\w* exaggerat\w+ extraneous extrinsic mismatch\w* (?:goes\s)?beyond
    differs?\sfrom absent\sfrom
""")
FAITHFUL = expression(rf"""
    (?:faithful(?:ly)?|factually|factual(?!\s(?:claims?|statements?|assertions?)\b)|{TRUE}|accurately|correctly
    |supported|supports?|consistent|grounded|entail(?:s|ed)|truthful|align(?:s|ed)|in\sline\swith|match(?:es)?|reflects?
    |backed|substantiated|verified|verifiable|restates?|hold\sup|checks?\sout)(?!\s(?:{FALSE}|{FAULT}))
    |(?:{FAULT}|hallucination)[\s-]free
""")
# A text without claims contains nothing that could be wrong: "the poem makes no factual claims".
CLAIMS = expression(r"""
    (?:(?:factual|verifiable|checkable)\s(?:\w+\s)?|(?<=\bno\s)|(?<=\bany\s))(?:claims?|statements?|assertions?
    |facts?)\b(?!\s(?:in the \w+ |of the \w+ )?(?:(?:that|which) )?(?:is|are|was|were|has|have)\b)
""")
# "is not mentioned" calls a detail unsupported; "is mentioned" makes no statement about the rest of the text.
PRESENT = any_of(rf"""
    mention(?:s|ed)? state(?:s|d) present found includ(?:es?|ed) specif(?:y|ies|ied) given taken traced provid(?:es?|ed)
    report(?:s|ed)? contained indicate(?:s|d) confirm(?:s|ed)? inferred derived implied said says?
    in\s(?:the|this)\s(?:\w+\s)?{SOURCE}
    (?:evidence|mention|support|basis|indication)(?!\sof\s(?:\w+\s){{0,3}}(?:hallucinat|{FAULT}))
""")
# "It would be wrong to call this a hallucination"
DENIED = expression(r"""
    (?:\b(?:wrong|incorrect|inaccurate|unfair|misleading)|(?:\bnot|n't)\s(?:\w+ly\s)?(?:accurate|correct|right|fair
    |true))\sto\s(?:say|call|claim|describe|label|consider|state|suggest|conclude)\b
""")
NEGATION = expression(r"""
    (?:not(?!\s(?:only|just|merely)\b)|no|zero|0|non(?=-)|never|without|cannot|neither|nor|none|nothing|nowhere
    |free\s(?:of|from)|lacks?|fails?\sto|avoids?|rather\sthan|instead\sof)
""")
ALL = r"(?:all|every|each|everything|fully|entirely|completely|both)"
PARTLY = r"(?:partial|partially|partly|somewhat|half)"
TOKEN = ignoring_case(rf"""
    (?P<negation>{DENIED}|\b{NEGATION}\b|n't\b)|(?P<claims>{CLAIMS})|\b(?:(?P<unfaithful>{UNFAITHFUL})(?![\s-]free\b)
    |(?P<faithful>{FAITHFUL})|(?P<present>{PRESENT})|(?P<all>{ALL})|(?P<partly>{PARTLY}))\b
""")
TURNS = any_of("but however although though while yet despite except so thus therefore because since")
ADDS = any_of("""
    the it also thus therefore then contains? adds? introduces? includes? invents? claims? wrong incorrect inaccurate
    false
""")
CLAUSE = ignoring_case(rf"[,;:()–—]|\s-\s|\b{TURNS}\b|\band\b(?=\s{ADDS}\b)")
HYPOTHETICAL = ignoring_case(r"""
    \b(?:whether|if|unless|in case)\b|\b(?:to|will|let me|let us|let's|must|should|I'll|going to|please)\s(?:\w+ly\s
    |now\s|first\s)?(?:check|look|verify|identify|determine|compare|find|assess|evaluate|detect|examine|analy[sz]e|see
    |decide|judge)\b|\b(?:can(?:no|')t|can not|unable to|not able to|impossible to)\s(?:\w+ly\s)?(?:determine|assess
    |judge|tell|say|evaluate|help|assist|provide|answer|decide|give|make)\b|\bI\s(?:can(?:no|')t|can not
    |am (?:unable|not able) to)\s(?:\w+ly\s)?(?:verify|confirm|check|know)\b
""")
WHOLE = ignoring_case(r"""
    \b(?:summary|answer|response|it)\b(?!')|\bthere(?:\s(?:is|isn't|are|aren't|were|might|may|seems?|appears?)|'s)\b
    |\bhallucinat|\b(?:all|everything|every|nothing|none)\b|^no\b|^not\b|^this is\b|^contains?\b|^[\w-]+\W*$
    |\bI\s(?:\w+\s){0,2}(?:find|found|identify|identified|see|detect|detected)\b
""")
FIELD = ignoring_case(rf"""
    (?P<topic>[^:=,;]{{3,160}}?)\s?[?:=]\s*(?:[❌✖✘✗✅✔✓]\W{{0,4}})?(?P<word>yes|no|true|false|none|0|absent
    |not (?:detected|found|present))\b{EITHER}
""")
# "I looked for made-up facts and found none": the verdict depends on what was looked for.
FOUND_NONE = ignoring_case(r"""
    \b(?:found|find|finds|see|saw|spotted|detected|identified|noticed)\s(?:none|nothing|no such thing)\W*\Z
    |\bnone\s(?:(?:was|were|are|is|could be)\s)?(?:found|detected|present|seen|identified|spotted)\W*\Z
    |(?:\b(?:not|cannot)|n't)\s(?:find|see|spot|detect|identify)\sany(?:thing)?\W*\Z
""")
LOOKED_FOR = ignoring_case(r"""
    \b(?:look(?:ed|ing)?|search(?:ed|ing)?|check(?:ed|ing)?|compar(?:ed|ing)|scann(?:ed|ing)|examined|reviewed|inspected
    |went)\b[^.?]{0,200}?\bfor\b
""")
SUPPORT = ignoring_case(r"\b(?:support|evidence|basis|mention|confirmation|quotes?|quotation|source|proof)\b")
# "Everything is right except the date"
EXCEPT = ignoring_case(r"""
    \b(?:except(?!ion)(?!\sfor\sminor\b)|apart from|aside from|other than|save for|bar
    |with (?:the|one|two|an?) (?:\w+ )?exceptions?|(?<=all )but|(?<=everything )but|(?<=every )but)\b(?!\s(?:what|that
    |those|the (?:content|information|facts?|text|document)))
""")
WITHIN = ignoring_case(r"""
    \b(?:nothing|no information|not\b[^.]{0,60}\banything)\s(?:\w+\s)?(?:other than|except|beyond|apart from
    |but)\s(?:for\s)?(?:what|that which|the (?:content|information|facts?|text|document))
""")
# "A hallucination is content that …"
DEFINES = ignoring_case(r"""
    \W*(?:an? |the term )?hallucinations?(?: in [^.,]{0,60})?,? (?:(?:is|are) (?:when|content|information|text|an? |any
    |something|statements?|defined|claims?|output|the (?:generation|production|creation|phenomenon))|means?\b|refers? to
    |(?:occurs?|happens?|arises?) (?:when|if)|describes?\b|involves?\b)
""")
SUPPOSES = ignoring_case(r"""
    \W*(?:(?:but|and|it depends\W+) )?(?:if(?! (?:I (?:had|have|must|were)|(?:we|you|one) (?:look|compare|check|read
    |consider|examine|go)\w*|forced|pressed|pushed|made|anything|so|not mistaken)\b)|unless|assuming|depending on
    |when (?:it|this)? ?(?:is )?(?:taken|read|interpreted|understood|meant|seen)|otherwise|it depends)\b
""")
TURN = ignoring_case(r"\b(?:but|however|in this case|since)\b,?")
LETTER = ignoring_case(r"\W*(?:(?P<yes>y)|n)\W*")
# "Yes, I can help with that."
OFFERS = ignoring_case(r"""
    \W*(?:yes|yeah|no)\W+(?:(?:of course|sure|certainly|problem)\W+)*I(?:'d| can| will|'ll| am|'m
    | would) (?:be )?(?:happy|glad|help|able|assist|check|do|judge)\b
""")
ALL_GOOD = ignoring_case(r"""
    \W*(?:(?:it|this|that|everything|all|the (?:summary|answer|response))(?: is|'s)? )?(?:(?:is|looks?|seems?
    |all) ){0,2}(?:good|fine|okay|ok|in order|clean)(?: to me| here)?\W*
""")
IS_NOT = ignoring_case(r"""
    \W*(?:but |though |however )?(?:it|there|they|this|that) (?:(?:is|are|do|does)(?:n't| not)|really isn't)\W*
""")
CHINESE = pattern(r"""
    (?P<no>没有|并无|不存在|并未|未发现|未|无|不包含|不含|不属于|不是|没)?(?:任何|明显|出现|产生|存在|包含|发现
    |的){0,3}(?:幻觉|编造|虚构|捏造|杜撰|与(?:事实|原文|文档)(?:不符|不一致))|(?P<same>与(?:事实|原文|文档)(?:一致
    |相符))
""")
# "Yes. Wait, I misread the query."
AGAIN = ignoring_case(rf"""
    (?:\W*(?:(?:oh|ah|no|yes|but|and|hmm+|ok(?:ay)?)\W+){{0,2}}(?:{declared.SECOND_THOUGHT}|hmm+\b|edit\s?:|update\s?:
    |sorry\W|actually(?=,? (?:wait|no|yes|I)\b))|.{{0,60}}\b(?=I ){declared.SECOND_THOUGHT})
""")
AGAIN_OPENER = ignoring_case(rf"{AGAIN.pattern}[ ,:;.]*")
SURELY = r"(?:certainly|definitely|absolutely|of course|clearly|probably|apparently)"
SURELY_NOT = ignoring_case(rf"(?s){SURELY} not\b(?:\W*|[,;:–—].*)")
# Answers to a question without a yes or no: "Not that I can see.", "It doesn't."
SHORT = ignoring_case(rf"""
    (?:(?P<no>no(?:pe|t (?:at all|really|quite|entirely|exactly|that I (?:can |could )?\w+|as far as I \w+ \w+
    |in the least))|{SURELY} not|not|hardly|far from it|none(?: at all| whatsoever| that I (?:can |could )?\w+)?
    |nothing(?: at all| that I (?:can |could )?\w+)?|I (?:don't|do not) (?:think|believe|see)(?: so| any| it)?
    |(?:it|there|they|this) (?:(?:does|is|do|are)(?:n't| not)(?: (?:appear|seem) (?:to|so))?|seems not|appears not)
    |there(?: is|'s| are) no (?:evidence|sign|indication)s? (?:of )?(?:one|any|it|that|this|such))
    |(?P<yes>yep|yeah|yup|certainly|definitely|absolutely|of course|clearly|indeed|sure|very much so
    |I (?:think|believe) so|(?:it|there|they|this) (?:does|is|do|are|seems so)(?: indeed)?
    |(?:it )?sadly so))(?=\s*(?:[.,;:!–—(-]|\Z))
""")
