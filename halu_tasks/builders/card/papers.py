"""The papers that describe the pipelines' methods, as cited by dataset cards."""

from __future__ import annotations

from typing import NamedTuple


class Paper(NamedTuple):
    """A paper's citation, for use in a sentence, and its BibTeX entry."""

    citation: str
    bibtex: str = ""


PAPERS = {
    "cfaith": Paper(
        "HaluAgent (Zhang et al. 2025, C-FAITH, arXiv 2504.10167)",
        r"""
@misc{zhang2025cfaith,
  title         = {{C-FAITH}: A {Chinese} Fine-Grained Benchmark for Automated Hallucination Evaluation},
  author        = {Zhang, Xu and Liu, Zhifei and Wang, Jiahao and Zhang, Huixuan and Xu, Fan and Zhang, Junzhe and
                   Wan, Xiaojun},
  year          = {2025},
  eprint        = {2504.10167},
  archivePrefix = {arXiv},
}""",
    ),
    "refact": Paper(
        "ReFACT (Wang et al. 2026, arXiv 2509.25868)",
        r"""
@inproceedings{wang2025refact,
  title     = {{ReFACT}: A Benchmark for Scientific Confabulation Detection with Positional Error Annotations},
  author    = {Wang, Yindong and Prei{\ss}, Martin and Bugue{\~n}o, Margarita and Hoffbauer, Jan Vincent and
               Ghajar, Abdullatif and Buz, Tolga and de Melo, Gerard},
  booktitle = {Proceedings of the 2026 Conference of the European Chapter of the Association for Computational
               Linguistics (EACL)},
  year      = {2026},
  url       = {https://aclanthology.org/2026.eacl-long.381/},
}""",
    ),
    "halluverse25": Paper(
        "HalluVerse25 (Abdaljalil, Kurban and Serpedin 2025, arXiv 2503.07833)",
        r"""
@misc{abdaljalil2025halluverse25,
  title         = {{HalluVerse25}: Fine-grained Multilingual Benchmark Dataset for {LLM} Hallucinations},
  author        = {Abdaljalil, Samir and Kurban, Hasan and Serpedin, Erchin},
  year          = {2025},
  eprint        = {2503.07833},
  archivePrefix = {arXiv},
}""",
    ),
    "factchd": Paper(
        "FactCHD (Chen et al. 2024, arXiv 2310.12086)",
        r"""
@inproceedings{chen2024factchd,
  title     = {{FactCHD}: Benchmarking Fact-Conflicting Hallucination Detection},
  author    = {Chen, Xiang and Song, Duanzheng and Gui, Honghao and Wang, Chenxi and Zhang, Ningyu and
               Jiang, Yong and Huang, Fei and Lv, Chengfei and Zhang, Dan and Chen, Huajun},
  booktitle = {Proceedings of the Thirty-Third International Joint Conference on Artificial Intelligence (IJCAI)},
  year      = {2024},
  note      = {arXiv 2310.12086},
}""",
    ),
}
"""The papers by the names that pipelines use."""


def paper_named(name: str) -> Paper:
    """Return the paper with this name; an unknown name is used as it is, without BibTeX."""
    paper = PAPERS.get(name)
    return Paper(paper.citation, paper.bibtex.strip()) if paper else Paper(name)
