"""Train a detector of factual errors: LoRA on the chats that `halu-tasks export chats factchd` writes.

    pip install "lm-eval[hf]"
    halu-tasks export chats factchd --data path/to/data -o chats.jsonl
    python train_detector.py meta-llama/Llama-2-7b-chat-hf chats.jsonl -o detector
    lm_eval --model hf --model_args pretrained=meta-llama/Llama-2-7b-chat-hf,peft=detector --apply_chat_template \
        --tasks factchd --output_path results --log_samples

The paper (Chen et al., IJCAI 2024, section 5.2) only says that LoRA parameters are tuned on the training set. Its
repository (github.com/zjunlp/FactCHD, commit 4080dc6, `scripts/run_alpaca.bash` and `finetune.py`) has the settings
that are the defaults here. Other than there, the base model is not quantized to 8 bits, and chats that are too long are
left out instead of cut, which would train on questions without their label.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    PreTrainedTokenizerBase,
    Trainer,
    TrainingArguments,
)

IGNORED = -100
"""The label of tokens that the loss leaves out."""


class Example(NamedTuple):
    """The tokens of a chat, and how many of them come before the answer."""

    tokens: list[int]
    question: int


def read_chats(path: Path) -> list[list[dict[str, str]]]:
    """Read the messages of each chat, the last of which is the answer."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line)["messages"] for line in file]


def tokenized(tokenizer: PreTrainedTokenizerBase, messages: Sequence[dict[str, str]]) -> Example:
    """Tokenize a chat as the model will be asked, followed by the answer and the end of the turn."""
    *asked, answer = messages
    prompt = str(tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True))
    question = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    reply = tokenizer(answer["content"], add_special_tokens=False)["input_ids"]
    return Example([*question, *reply, tokenizer.eos_token_id], len(question))


def as_features(example: Example) -> dict[str, list[int]]:
    """Return what the model is trained on: only the answer counts in the loss."""
    labels = [IGNORED] * example.question + example.tokens[example.question :]
    return {"input_ids": example.tokens, "attention_mask": [1] * len(example.tokens), "labels": labels}


def training_arguments(arguments: argparse.Namespace) -> TrainingArguments:
    """Return the settings of the run."""
    devices = max(torch.cuda.device_count(), 1)
    return TrainingArguments(
        output_dir=str(arguments.output / "checkpoints"),
        num_train_epochs=arguments.epochs,
        learning_rate=arguments.learning_rate,
        per_device_train_batch_size=arguments.micro_batch_size,
        per_device_eval_batch_size=arguments.micro_batch_size,
        gradient_accumulation_steps=max(arguments.batch_size // arguments.micro_batch_size // devices, 1),
        bf16=torch.cuda.is_available(),
        # the epoch with the lowest loss on the held-out chats is kept
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        load_best_model_at_end=True,
        train_sampling_strategy="group_by_length",
        logging_steps=10,
        report_to="none",
        seed=arguments.seed,
    )


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Train a detector with LoRA on exported chats.")
    parser.add_argument("model", help="the base model: a name on the Hub, or a folder; it needs a chat template")
    parser.add_argument("chats", type=Path, help="the output of halu-tasks export chats")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder of the adapter")
    # the numbers are those of scripts/run_alpaca.bash and scripts/run_vicuna.bash
    settings: tuple[tuple[str, Any, str], ...] = (
        ("epochs", 10.0, "passes over the chats"),
        ("learning-rate", 1e-4, "the learning rate of AdamW, which decays linearly"),
        ("batch-size", 240, "chats in a step, on all devices together"),
        ("micro-batch-size", 10, "chats at a time on one device"),
        ("max-length", 800, "tokens of a chat; longer ones are left out, so raise it for chats with passages"),
        ("validation", 2_000, "chats that are held out"),
        ("rank", 16, "rank of the update"),
        ("alpha", 32, "scale of the update"),
        ("dropout", 0.05, "dropout of the update"),
    )
    for name, default, about in settings:
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"{about} (default: {default})")
    # finetune.py: the projections that it tunes, and the seed of its split
    parser.add_argument("--modules", nargs="+", default=["q_proj", "v_proj"], help="default: q_proj v_proj")
    parser.add_argument("--seed", type=int, default=42, help="seed of the split and of training (default: 42)")
    return parser.parse_args()


def main() -> int:
    """Train, and save the adapter with its tokenizer."""
    arguments = parse()
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    if tokenizer.chat_template is None:
        print(f"{arguments.model} has no chat template, by which lm-eval asks it too", file=sys.stderr)
        return 2
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    examples = [tokenized(tokenizer, messages) for messages in read_chats(arguments.chats)]
    fitting = [as_features(example) for example in examples if len(example.tokens) <= arguments.max_length]
    print(f"{len(examples) - len(fitting)} of {len(examples)} chats are longer than {arguments.max_length} tokens")
    if len(fitting) <= arguments.validation:
        print(f"{len(fitting)} chats cannot be divided: --validation {arguments.validation}", file=sys.stderr)
        return 2
    random.Random(arguments.seed).shuffle(fitting)
    held_out, training = fitting[: arguments.validation], fitting[arguments.validation :]

    base = AutoModelForCausalLM.from_pretrained(arguments.model, dtype="auto")
    lora = LoraConfig(
        r=arguments.rank,
        lora_alpha=arguments.alpha,
        lora_dropout=arguments.dropout,
        target_modules=arguments.modules,
        bias="none",
        task_type="CAUSAL_LM",
    )
    trainer = Trainer(
        model=get_peft_model(base, lora),
        args=training_arguments(arguments),
        train_dataset=training,
        eval_dataset=held_out,
        data_collator=DataCollatorForSeq2Seq(tokenizer, label_pad_token_id=IGNORED),
    )
    trainer.train()
    trainer.save_model(str(arguments.output))
    tokenizer.save_pretrained(arguments.output)
    print(f"loss on {len(held_out)} held-out chats: {trainer.evaluate()['eval_loss']:.4f}; adapter: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
