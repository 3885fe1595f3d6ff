// SPDX-License-Identifier: Apache-2.0
// What each engine does with memory, as data: found by measuring, never computed from anything else.
//
// How: cells on x86-64 Linux 6.18 with AVX-512, VmHWM and RssAnon of the child after opening and after two runs, batch and
// sequence varied so that weights and what nodes make come apart (MiB; "makes" is graph_memory.peak_nbytes):
//
//   engine              model                     weights  makes   anonymous: opened, run   mapped   largest resident set
//   ONNX Runtime 1.31.1 bert-base 1x128 f32          416     30        427    463              111      574
//                       bert-base 8x512              416    954        427   1689              112     1801
//                       vit-base 1                   330      8        341    353               21      375
//                       vit-base 16                  330    120        341    565               21      587
//                       Qwen2-0.5B 1x128 bf16        942    151       1962   2128               91     2501
//                       Qwen2-0.5B 4 layers 1x1024   373   1191        779   2166              233     2399
//                       whisper-tiny 1x3000, 128     144    107                391              102      493
//                       detr-resnet-50 800x1333      159    158        257    574               22      596
//                       Qwen2-0.5B 8 layers float16  487    149       1038   1195               78     1577
//                       Qwen2-0.5B 16 and 24 tokens, converted to float32: 2144     1975     2487; int4: 554, 451, 587; but for
//                       the head: 473, 1316, 1417
//   OpenVINO 2026.4.1   bert-base 1x128 f32          416     30        315    484              469      954
//                       bert-base 8x512              416    954        315   1514              467     1982
//                       vit-base 1                   330      8        224    368              382      751
//                       vit-base 16                  330    120        224    464              381      846
//                       Qwen2-0.5B 1x128 bf16        942    151       3415   3905               98     4004
//                       Qwen2-0.5B 4 layers 1x1024   373   1191       1444   2448              236     2684
//                       whisper-tiny 1x3000, 128     144    107                234              197      431
//                       detr-resnet-50 800x1333      159    158                432              214      646
//                       Qwen2-0.5B 8 layers float16  487    149       2358   2583               50     2633
//   the same with       Qwen2-0.5B 8 layers bf16     487    149        997   1601              116     1718
//   precision=bf16      bert-base 1x128 f32          416     30         33    280              467      748
//
//                       integers in blocks of 32, on ONNX Runtime and OpenVINO, while they run: llava's shape 1x704 of 188
//                       million weights in int4 377 and 516 (of which 78 are not explained), of 374 million 494 on the first;
//                       a layer of 1024 and 8192, 1x8, 21 million weights, in int8 59 and in int4 38 on the second
//
// So: both copy every weight that is multiplied with into a layout of their own. ONNX Runtime then lets go of the mapped original
// and, one after the other, of what it had folded (a float32 copy of 16-bit weights), so that the largest of them exists twice
// for a moment; OpenVINO keeps the mapped pages, and the folded copies beside the packed ones. ONNX Runtime's arena keeps the
// pieces of the first run beside the one block that it plans for the second: up to twice what is alive at one time, but for the
// outputs. OpenVINO makes one operation of an attention whose heads share no keys, and holds none of its scores. 3 layers, width
// 256, 8 heads: largest resident set in MiB, predicted without scores, predicted with them, and as measured:
//
//   OpenVINO 2026.4.1   bert 1x2048           113          347            114
//                       vit 4097 tokens       131         1085            138
//                       llama 1x2048          144          376            174
//                       SD3 4103 tokens       191         1180            245
//                       Flux 4224 tokens, 4 layers, 512 wide: 415, 1386, 694; with fixed shapes 415, 1386, 420
//                       Qwen2 1x2048, 8 heads on 2 keys: no one operation, 365, 764
//
// What stays too low the graph does not explain: with open dimensions tensors share less memory, and heads that share keys.
// Both keep a convolution's weight beside the one that they make by folding the scale after it in (90 MiB of detr's).
#include "platform/platform.h"

#include "base/text.h"

static const struct platform_memory engines[] = {
	{ .engine = "ort",
		.provider = "cpu",
		.opened_mib = 12,
		.mapped_mib = 21,
		.made = 1.9,
		.given = 1,
		.blocks = 2,
		.frees_packed = true,
		.folded_slack = 0.035,
		.widens_half_weights = true },
	{ .engine = "openvino",
		.provider = "openvino",
		.opened_mib = 32,
		.mapped_mib = 51,
		.made = 0.95,
		.given = 0.95,
		.blocks = 2,
		.fuses_attention = true,
		.widens_half_tables = true },
};

const struct platform_memory *platform_memory(const struct route *r)
{
	for (size_t i = 0; r && i < sizeof engines / sizeof *engines; i++)
		if (text_is(engines[i].engine, r->engine) && text_is(engines[i].provider, r->provider))
			return &engines[i];
	return NULL;
}
