"""Writes a model that comes as one GGUF file as the folder that sglang serves.

    write_model.py MODEL.gguf FOLDER

The weights become bfloat16; the tokenizer is the one in the file.
"""

import sys
from pathlib import Path

import torch
import vision_operators

if __name__ == "__main__":
    vision_operators.declare()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source, folder = Path(sys.argv[1]), sys.argv[2]
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    model = AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.bfloat16
    )
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
