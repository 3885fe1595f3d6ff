#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Graphs of torch's own exporter, for bench/zoo: small modules with seeded weights, dynamic shapes, control flow, states, external data.
#     bench/zoo_modules.py FOLDER        FOLDER/NAME.onnx, and NAME.safetensors with in.INPUT and out.OUTPUT as torch computed them
# Needs torch 2.9, torchvision, onnx, onnxscript and safetensors from PyPI. Inputs have other sizes than those that the exporter
# saw, where a size is dynamic. Loops and branches of a script go through TorchScript, the others through torch.export.
import os, sys, torch
from torch import nn
from torch.nn import functional as F
from torch.export import Dim
from safetensors.torch import save_file

AUTO = Dim.DYNAMIC # a size that the exporter leaves open
torch.manual_seed(0)


class Residual(nn.Module):
	def __init__(self):
		super().__init__()
		self.stem, self.norm = nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16)
		self.a, self.b, self.out = nn.Conv2d(16, 16, 3, 1, 1), nn.Conv2d(16, 16, 3, 1, 1), nn.Linear(16, 10)

	def forward(self, pixels):
		x = F.relu(self.norm(self.stem(pixels)))
		x = F.relu(x + self.b(F.relu(self.a(x))))
		return self.out(x.mean((2, 3)))


class Separable(nn.Module):
	def __init__(self):
		super().__init__()
		self.deep, self.point = nn.Conv2d(12, 12, 5, padding=2, groups=12), nn.Conv2d(12, 24, 1)
		self.down, self.up = nn.Conv2d(24, 6, 1), nn.Conv2d(6, 24, 1)

	def forward(self, x):
		x = F.hardswish(self.point(self.deep(x)))
		return x * F.hardsigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))))


class UNet(nn.Module):
	def __init__(self):
		super().__init__()
		self.a, self.b, self.c, self.d = (nn.Conv2d(*n, 3, padding=1) for n in ((1, 8), (8, 16), (24, 8), (8, 2)))

	def forward(self, image):
		x = F.silu(self.a(image))
		y = F.silu(self.b(F.max_pool2d(x, 2)))
		y = F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)
		return self.d(F.silu(self.c(torch.cat((x, y), 1)))).softmax(1)


class Upscaler(nn.Module):
	def __init__(self):
		super().__init__()
		self.a, self.b, self.c = nn.ConvTranspose2d(4, 8, 3, 2, 1, 1), nn.Conv2d(8, 12, 3, padding=1), nn.PReLU(8)

	def forward(self, x):
		return F.pixel_shuffle(self.b(self.c(self.a(x))), 2)


class Mlp(nn.Module):
	def __init__(self):
		super().__init__()
		self.a, self.b, self.norm = nn.Linear(32, 128), nn.Linear(128, 32), nn.LayerNorm(32)

	def forward(self, x):
		return x + self.b(F.gelu(self.a(self.norm(x)), approximate="tanh"))


class Lstm(nn.Module):
	def __init__(self):
		super().__init__()
		self.net, self.out = nn.LSTM(20, 24, 2, bidirectional=True, batch_first=True), nn.Linear(48, 5)

	def forward(self, features):
		return self.out(self.net(features)[0]).log_softmax(-1)


class Gru(nn.Module):
	def __init__(self):
		super().__init__()
		self.net = nn.GRU(12, 16, batch_first=True)

	def forward(self, x, state):
		y, after = self.net(x, state)
		return y, after


class Encoder(nn.Module):
	def __init__(self):
		super().__init__()
		self.words = nn.Embedding(100, 32)
		self.net = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True), 2, enable_nested_tensor=False)

	def forward(self, ids):
		return self.net(self.words(ids)).mean(1)


class Causal(nn.Module):
	"""A layer of a language model: RMS norm, rotary embedding, a mask from the shape, grouped heads, a cache that grows."""

	def __init__(self):
		super().__init__()
		self.q, self.k, self.v, self.o = nn.Linear(64, 64, bias=False), nn.Linear(64, 32, bias=False), nn.Linear(64, 32, bias=False), nn.Linear(64, 64)
		self.weight = nn.Parameter(torch.rand(64) + 0.5)

	def rotate(self, x, position):
		angle = position[:, None] * 10000.0 ** (-torch.arange(0, 16, 2, dtype=torch.float32) / 16)
		cos, sin = torch.cat((angle.cos(),) * 2, -1), torch.cat((angle.sin(),) * 2, -1)
		return x * cos + torch.cat((-x[..., 8:], x[..., :8]), -1) * sin

	def forward(self, hidden, past_key, past_value):
		batch, length, _ = hidden.shape
		past = past_key.shape[2]
		x = hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
		q, k, v = (f(x).view(batch, length, -1, 16).transpose(1, 2) for f in (self.q, self.k, self.v))
		position = torch.arange(past, past + length, dtype=torch.float32)
		key, value = torch.cat((past_key, self.rotate(k, position)), 2), torch.cat((past_value, v), 2)
		seen = torch.arange(past + length)[None] <= torch.arange(past, past + length)[:, None]
		y = F.scaled_dot_product_attention(self.rotate(q, position), key.repeat_interleave(2, 1), value.repeat_interleave(2, 1), seen)
		return hidden + self.o(y.transpose(1, 2).reshape(batch, length, 64)), key, value


class Pooled(nn.Module):
	def __init__(self):
		super().__init__()
		self.words = nn.Embedding(50, 24, padding_idx=0)

	def forward(self, ids, mask):
		m = mask[..., None].to(torch.float32)
		return F.normalize((self.words(ids) * m).sum(1) / m.sum(1).clamp(min=1e-9), dim=-1)


class Sampler(nn.Module):
	"""A spatial transformer: the picture seen through an affine map that it asks for itself."""

	def __init__(self):
		super().__init__()
		self.map = nn.Linear(3, 6)

	def forward(self, image):
		theta = torch.eye(2, 3) + 0.2 * self.map(image.mean((2, 3))).view(-1, 2, 3)
		return F.grid_sample(image, F.affine_grid(theta, image.shape, align_corners=False), align_corners=False, padding_mode="border")


class Branch(nn.Module):
	def __init__(self):
		super().__init__()
		self.a, self.b = nn.Linear(16, 16), nn.Linear(16, 16)

	def forward(self, x):
		return torch.cond(x.sum() > 0, lambda y: self.a(y).relu(), lambda y: self.b(y).tanh(), (x,))


class Chosen(nn.Module):
	def forward(self, scores, values):
		best, at = scores.topk(5, dim=-1)
		taken = values.gather(1, at[..., None].expand(-1, -1, values.shape[-1]))
		kept = torch.zeros_like(scores).scatter(1, at, best.softmax(-1))
		return taken, kept, at


class Counting(nn.Module):
	def forward(self, ids):
		one = F.one_hot(ids, 12)
		return one.cumsum(1), one.sum(1).argmax(-1), torch.where(ids > 5, ids * 2, -ids), ids.sort(-1, descending=True).values


class Einsum(nn.Module):
	def __init__(self):
		super().__init__()
		self.bilinear = nn.Parameter(torch.randn(6, 20, 20) / 20)

	def forward(self, left, right):
		return torch.einsum("bid,odk,bjk->boij", left, self.bilinear, right).logsumexp(-1)


class Spectrum(nn.Module):
	def __init__(self):
		super().__init__()
		self.register_buffer("window", torch.hann_window(64))
		self.mel = nn.Parameter(torch.rand(20, 33))

	def forward(self, wave):
		z = torch.stft(wave, 64, 32, window=self.window, center=False, return_complex=True)
		power = torch.view_as_real(z).pow(2).sum(-1)
		return (self.mel @ power + 1e-6).log()


class Wide(nn.Module):
	"""Three megabytes of weights, in a file beside the graph."""

	def __init__(self):
		super().__init__()
		self.a, self.b = nn.Linear(256, 1536), nn.Linear(1536, 256)

	def forward(self, x):
		return self.b(F.mish(self.a(x)))


class Volume(nn.Module):
	def __init__(self):
		super().__init__()
		self.a, self.b, self.norm = nn.Conv3d(1, 6, 3, padding=1), nn.Conv3d(6, 4, 3, 2, 1), nn.GroupNorm(2, 6)

	def forward(self, clip):
		return F.avg_pool3d(self.b(F.elu(self.norm(self.a(clip)))), (1, 2, 2))


class Steps(nn.Module):
	"""A loop as long as the input is, with a branch inside."""

	def __init__(self):
		super().__init__()
		self.cell = nn.Linear(8, 8)

	def forward(self, x):
		state = torch.zeros_like(x[:, 0])
		for i in range(x.shape[1]):
			state = torch.tanh(self.cell(state) + x[:, i])
			if float(state.mean()) > 0.2:
				state = state * 0.5
		return state


class Until(nn.Module):
	def forward(self, x, most):
		n = torch.zeros((), dtype=torch.int64)
		while bool(x.abs().max() > 0.1) and bool(n < most):
			x = x * 0.7
			n = n + 1
		return x, n


class Convolved(nn.Module):
	"""One dimension: gated, dilated, causal, as wave nets are."""

	def __init__(self):
		super().__init__()
		self.a, self.b = nn.Conv1d(10, 40, 3, dilation=2), nn.Conv1d(20, 10, 1)

	def forward(self, x):
		left, gate = self.a(F.pad(x, (4, 0))).chunk(2, 1)
		return x + self.b(left.tanh() * gate.sigmoid())


def r(*shape):
	return torch.randn(*shape)


def ids(high, *shape):
	return torch.randint(0, high, shape)


# name: module, inputs for the exporter, inputs for the golden outputs, dynamic sizes of each input
GRAPHS = {
	"residual": (Residual(), (r(2, 3, 32, 32),), (r(3, 3, 48, 40),), ({0: AUTO, 2: AUTO, 3: AUTO},)),
	"separable": (Separable(), (r(2, 12, 16, 16),), (r(1, 12, 9, 21),), ({0: AUTO, 2: AUTO, 3: AUTO},)),
	"unet": (UNet(), (r(2, 1, 32, 32),), (r(1, 1, 27, 38),), ({0: AUTO, 2: AUTO, 3: AUTO},)),
	"upscaler": (Upscaler(), (r(2, 4, 8, 8),), (r(1, 4, 7, 10),), ({0: AUTO, 2: AUTO, 3: AUTO},)),
	"mlp": (Mlp(), (r(2, 5, 32),), (r(3, 11, 32),), ({0: AUTO, 1: AUTO},)),
	"lstm": (Lstm(), (r(2, 9, 20),), (r(2, 9, 20),), None),
	"gru_state": (Gru(), (r(2, 7, 12), r(1, 2, 16)), (r(2, 7, 12), r(1, 2, 16)), None),
	"encoder": (Encoder(), (ids(100, 2, 9),), (ids(100, 3, 14),), ({0: AUTO, 1: AUTO},)),
	"causal_cache": (Causal(), (r(2, 3, 64), r(2, 2, 5, 16), r(2, 2, 5, 16)), (r(1, 4, 64), r(1, 2, 7, 16), r(1, 2, 7, 16)),
		({0: AUTO, 1: AUTO}, {0: AUTO, 2: AUTO}, {0: AUTO, 2: AUTO})),
	"pooled": (Pooled(), (ids(50, 2, 6), torch.ones(2, 6, dtype=torch.int64)), (ids(50, 3, 9), (torch.arange(9)[None] < torch.tensor([[9], [4], [1]])).long()),
		({0: AUTO, 1: AUTO}, {0: AUTO, 1: AUTO})),
	"sampler": (Sampler(), (r(2, 3, 16, 16),), (r(1, 3, 16, 16),), ({0: AUTO},)),
	"branch": (Branch(), (r(3, 16),), (r(5, 16) - 1,), ({0: AUTO},)),
	"chosen": (Chosen(), (r(2, 12), r(2, 12, 4)), (r(3, 20), r(3, 20, 4)), ({0: AUTO, 1: AUTO}, {0: AUTO, 1: AUTO})),
	"counting": (Counting(), (ids(12, 2, 6),), (ids(12, 3, 10),), ({0: AUTO, 1: AUTO},)),
	"einsum": (Einsum(), (r(2, 4, 20), r(2, 4, 20)), (r(1, 7, 20), r(1, 5, 20)), ({0: AUTO, 1: AUTO}, {0: AUTO, 1: AUTO})),
	"spectrum": (Spectrum(), (r(2, 512),), (r(1, 512),), ({0: AUTO},)),
	"external": (Wide(), (r(2, 256),), (r(3, 256),), ({0: AUTO},)),
	"volume": (Volume(), (r(1, 1, 8, 16, 16),), (r(2, 1, 8, 12, 20),), ({0: AUTO, 3: AUTO, 4: AUTO},)),
	"convolved": (Convolved(), (r(2, 10, 20),), (r(1, 10, 33),), ({0: AUTO, 2: AUTO},)),
	"steps": (Steps(), (r(2, 5, 8),), (r(3, 9, 8),), ["x"]),
	"until": (Until(), (r(3, 4), torch.tensor(30)), (r(5, 4), torch.tensor(12)), ["x"]),
}


def export(folder, name, module, shown, inputs, dynamic):
	path = os.path.join(folder, name + ".onnx")
	words = list(module.forward.__code__.co_varnames[1:module.forward.__code__.co_argcount])
	module = module.eval()
	with torch.no_grad():
		given = module(*inputs)
	given = list(given) if isinstance(given, tuple) else [given]
	outputs = [f"output_{i}" for i in range(len(given))]
	if isinstance(dynamic, list):  # names of inputs whose sizes are dynamic: through TorchScript
		torch.onnx.export(torch.jit.script(module), shown, path, input_names=words, output_names=outputs, opset_version=17, dynamo=False,
			dynamic_axes={n: {0: "batch", 1: "length"} for n in dynamic})
	else:
		torch.onnx.export(module, shown, path, input_names=words, output_names=outputs, opset_version=18, dynamo=True, verbose=False,
			external_data=name == "external", dynamic_shapes=dynamic)
	save_file({f"in.{n}": t.contiguous() for n, t in zip(words, inputs)} | {f"out.{n}": t.contiguous() for n, t in zip(outputs, given)},
		os.path.join(folder, name + ".safetensors"))


if __name__ == "__main__":
	if len(sys.argv) != 2:
		sys.exit("usage: bench/zoo_modules.py FOLDER")
	os.makedirs(sys.argv[1], exist_ok=True)
	for name, row in GRAPHS.items():
		export(sys.argv[1], name, *row)
		print(name, flush=True)
