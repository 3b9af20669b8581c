"""What the exporters of golden files share: weights in which every tensor is random, and files that refuse to lie.

A module left at its initial values hides errors: a zero codebook, a snake with alpha = beta = 0 or a norm of ones gives the right
answer for the wrong reason. So every tensor of a model is drawn anew, and a constant one ends the export.
"""

import json
import math
from pathlib import Path

import torch
from safetensors.torch import save_file


def draw(name, shape, generator):
    """A random tensor that suits its role, told by its name and rank."""

    def normal(mean, std):
        return torch.randn(shape, generator=generator) * std + mean

    last = name.rsplit(".", 2)[-2:]
    if last[-1] == "cluster_usage":
        usage = torch.rand(shape, generator=generator) * 19.5 + 0.5
        usage[3] = 3e-6  # below the floor of the quotient
        return usage
    if last[-1] in ("embedding_sum", "embed_sum"):
        return normal(0.0, 1.0)  # scaled by its usage in `randomise`
    if last[-1] in ("alpha", "beta"):
        return normal(0.0, 0.3)
    if last[-1] in ("scale", "gamma"):
        return normal(0.4, 0.1)
    if len(shape) == 1:
        return normal(1.0, 0.2) if "norm" in name and last[-1] == "weight" else normal(0.0, 0.1)
    if "embedding" in name:
        return normal(0.0, 0.5)
    if "head" in name:
        return normal(0.0, 2.0 / math.sqrt(shape[1]))
    return normal(0.0, 0.9 / math.sqrt(math.prod(shape[1:])))


def randomise(module, seed, dtype=torch.float32, scale=None):
    """Draws every tensor of `module`, rounded to `dtype`; `scale` maps a name to a factor. Returns them by name."""
    generator = torch.Generator().manual_seed(seed)
    tensors = module.state_dict()
    with torch.no_grad():
        for name in sorted(tensors):
            tensor = tensors[name]
            if name.endswith(".initialized"):
                continue  # a flag, always 1
            value = draw(name, tensor.shape, generator) * (scale(name) if scale else 1.0)
            tensor.copy_(value.to(dtype).float())
        for name, tensor in tensors.items():
            if name.endswith(("embedding_sum", "embed_sum")):
                usage = tensors[name.rsplit(".", 1)[0] + ".cluster_usage"].clamp(min=1e-5)
                tensor.mul_(usage[:, None])
    refuse_constants(tensors)
    return {name: tensor.to(dtype).contiguous() for name, tensor in tensors.items()}


def refuse_constants(tensors):
    for name, tensor in tensors.items():
        if tensor.numel() > 1 and bool((tensor == tensor.flatten()[0]).all()):
            raise SystemExit(f"{name} {list(tensor.shape)} is constant: a golden made with it proves nothing")
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise SystemExit(f"{name} is not finite")


def save(path, tensors):
    """Writes golden tensors: f32 and i32, contiguous, none constant."""
    flat = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach().clone().contiguous()
        flat[name] = tensor.float() if tensor.is_floating_point() else tensor.to(torch.int32)
    refuse_constants(flat)
    write(path, flat)


def write(path, tensors):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, str(path), metadata={"format": "pt"})
    Path(path).chmod(0o644)
    print(f"{path}: {len(tensors)} tensors, {Path(path).stat().st_size} bytes")


def dump(path, value):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def signal(samples, rate, seed):
    """A rising tone with two overtones, a slow tremolo and noise: something at every frequency, within half of full scale."""
    generator = torch.Generator().manual_seed(seed)
    t = torch.arange(samples, dtype=torch.float64) / rate
    phase = 2 * math.pi * (120 * t + 900 * t * t)
    tone = sum(torch.sin(phase * k) / k for k in (1, 2, 3)) * (0.6 + 0.4 * torch.sin(2 * math.pi * 5 * t))
    noise = torch.randn(samples, generator=generator, dtype=torch.float64)
    return (0.2 * tone + 0.05 * noise).clamp(-0.5, 0.5).float()


def record(module, into, name, pick=None):
    """Keeps the output of every later call of `module` in the list `into[name]`."""

    def keep(_, __, output):
        output = pick(output) if pick else output
        into.setdefault(name, []).append(output.detach().clone())

    return module.register_forward_hook(keep)
