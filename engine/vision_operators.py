"""Lets torchvision be imported beside a CPU build of torch; sglang and transformers import it."""

import torch

_DECLARED: list[torch.library.Library] = []


def declare() -> None:
    """Declare the operators that torchvision's Python part names, where they are not there.

    They are in its compiled part, which needs the CUDA libraries that such a torch comes without.
    A model that sees no pictures calls none of them.
    """
    try:
        import torchvision  # noqa: F401, PLC0415 - with a CUDA build all of it is there
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _DECLARED.append(library)  # it takes them back when it is collected
