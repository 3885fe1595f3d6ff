# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A stranger's pictures and settings: sizes that no file of so many bytes can have, or that no memory can hold; scans without end;
# tiles and patches without number. Each is refused, quickly and small.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
need_python
cd "$work" || exit 1
python3 - <<'PY' || exit 1
import json, os, struct, zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(name, width, height, data, depth=8, kind=2, before=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    open(name, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + chunk(b"IDAT", data) + chunk(b"IEND", b""))


# That many zeros, of which each MiB is compressed by itself, so that it is compressed once.
def zeros(count):
    deflate = zlib.compressobj(9)
    begin = deflate.compress(bytes(1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    again = deflate.compress(bytes(1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    assert count >= 1 << 20
    end = zlib.compressobj(9, zlib.DEFLATED, -15)
    rest = end.compress(bytes(count % (1 << 20))) + end.flush()
    return begin + again * ((count >> 20) - 1) + rest + struct.pack(">I", count % 65521 << 16 | 1)     # Adler's sum of zeros


png("large.png", 60000, 60000, zlib.compress(b"\0" * 100))
png("line.png", 2000000, 1, zlib.compress(b"\0" * 100))
png("empty.png", 12000, 12000, zlib.compress(b"\0" * 100))
gigabyte = zeros(1 << 30)
# An honest bomb of 10 MB of colour text, and one whose rows never come.
png("text.png", 4, 4, zlib.compress(b"\0" * 52), before=chunk(b"zTXt", b"k\0\0" + gigabyte))
png("short.png", 3000, 3000, zeros(8000000))
# Behind the last row, 1 GB of zeros: 10 times as much took 19 s. And rows that do not compress, in blocks of a few bytes.
png("behind.png", 8, 8, gigabyte)
png("noise.png", 300, 300, zlib.compress(b"".join(b"\0" + os.urandom(900) for _ in range(300)), 0))
jpeg = b"\xff\xd8\xff\xc2\0\x0b\x08" + struct.pack(">HH", 4096, 4096) + b"\1\1\x11\0" + b"\xff\xc4\0\x14\0\1" + bytes(15) + b"\0"
scan = b"\xff\xda\0\x08\1\1\0\0\0\0"
open("scans.jpg", "wb").write(jpeg + (scan + bytes(64)) * 3000 + b"\xff\xd9")
open("gif.gif", "wb").write(b"GIF89a" + struct.pack("<HH", 65535, 65535) + b"\x80\0\0" + bytes(6) + b"," + struct.pack("<HHHH", 0, 0, 65535, 65535) + b"\0\2")
open("vp8x.webp", "wb").write(b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + b"\xff" * 6)
# Texts of 8 MiB each, and profiles, which nobody reads: 10 s of a file of 2 MB; an animation of very many frames; markers without end.
png("texts.png", 4, 4, zlib.compress(b"\0" * 52), before=chunk(b"iTXt", b"k\0\1\0\0\0" + zeros((8 << 20) - 100)) * 300)
# The zeros of these two are holes, which take no time to write.
png("palettes.png", 4, 4, zlib.compress(b"\0" * 52))
ends = open("palettes.png", "rb").read()
with open("palettes.png", "wb") as f:
    f.write(ends[:33])                                   # the signature, and IHDR
    for i in range(20):
        head = b"sPLT%d\0\x08" % i
        f.write(struct.pack(">I", len(head) - 4 + (6 << 20)) + head)
        f.seek(6 << 20, 1)
        f.write(struct.pack(">I", zlib.crc32(bytes(6 << 20), zlib.crc32(head))))
    f.write(ends[33:])
pixel = b"VP8L" + struct.pack("<I", 17) + bytes.fromhex("2f0140000007d0842634a1ff8188e87f0000")  # 2 x 2, and a byte that makes it even
frame = b"ANMF" + struct.pack("<I", 16 + len(pixel)) + bytes(6) + b"\1\0\0\1\0\0\x64\0\0\0" + pixel


def animation(name, side, frames):
    body = b"WEBPVP8X" + struct.pack("<IBBH", 10, 2, 0, 0) + (side - 1).to_bytes(3, "little") * 2 + b"ANIM" + struct.pack("<IIH", 6, 0, 0) + frame * frames
    open(name, "wb").write(b"RIFF" + struct.pack("<I", len(body)) + body)


animation("canvas.webp", 13370, 1)
animation("frames.webp", 4, 1 << 18)
body = b"WEBPVP8X" + struct.pack("<IBBH", 10, 0, 0, 0) + bytes(6) + b"JUNK\0\0\0\0" * (1 << 19)
open("chunks.webp", "wb").write(b"RIFF" + struct.pack("<I", len(body)) + body)
with open("markers.jpg", "wb") as f:
    f.write(b"\xff\xd8")
    for _ in range(3000):
        f.write(b"\xff\xe1\xff\xff")
        f.truncate(f.seek(65533, 1))
open("none", "wb").truncate(400 << 20)
# Scans that go over all blocks and change none: a bit says so of 32767.
side = 5600
tables = b"\xff\xdb\0\x43\0" + b"\1" * 64 + b"\xff\xc4\0\x14\x10\1" + bytes(15) + b"\xe0"
refine = b"\xff\xda\0\x08\1\1\0\1\x3f\xdc" + b"\x7f\xff\0" * ((side // 8) ** 2 // 32767 + 2)
space = b"\xff\xfe\xfd\xe8" + bytes(64998)                   # pixels want bytes
open("refine.jpg", "wb").write(b"\xff\xd8" + space + b"\xff\xc2\0\x0b\x08" + struct.pack(">HH", side, side) + b"\1\1\x11\0" + tables + refine * 490 + b"\xff\xd9")
# Of a file of several scans libjpeg keeps all coefficients: of a good one, of one whose scan ends early, and of one that is too large.
def progressive(name, side, channels, data, before=b""):
    components = b"".join(bytes([1 + i, 0x11, 0]) for i in range(channels))
    header = b"\xff\xc2" + struct.pack(">HBHHB", 8 + 3 * channels, 8, *side, channels) + components
    table = b"\xff\xdb\0\x43\0" + b"\1" * 64 + b"\xff\xc4\0\x14\0\1" + bytes(15) + b"\0"    # a block of 0 is a bit of 0
    select = b"\xff\xda" + struct.pack(">HB", 6 + 2 * channels, channels) + b"".join(bytes([1 + i, 0]) for i in range(channels)) + bytes(3)
    open(name, "wb").write(b"\xff\xd8" + before + header + table + select + data + b"\xff\xd9")


progressive("photo.jpg", (5600, 5200), 1, bytes(5600 * 5200 // 512))
progressive("early.jpg", (6400, 5600), 1, bytes(100), space * 4)
progressive("progressive.jpg", (13000, 13000), 3, b"", space * 70)
progressive("cut.jpg", (10000, 10000), 1, bytes(10000 * 10000 // 512 + 2), space * 35)
os.truncate("cut.jpg", os.path.getsize("cut.jpg") - 2)
progressive("half.jpg", (10000, 10000), 1, bytes(10000 * 10000 // 512 - 100), space * 35)


# A line of LZW whose codes are each one longer than the one before, in blocks of 255 bytes.
def gif(name, width, height, pixels, cut=0):
    bits, size, following, left, run, value, data = 0, 3, 6, pixels, 0, 0, bytearray()

    def put(code):
        nonlocal bits, value
        value |= code << bits
        bits += size
        while bits >= 8:
            data.append(value & 255)
            value, bits = value >> 8, bits - 8

    put(4)
    while left > 0:
        if run and following == 4096:
            put(4)
            size, following, run = 3, 6, 0
        put(following if run else 0)
        following, run = following + (run > 0), run + 1
        left -= run
        size += following == 1 << size and size < 12
    put(5)
    data += bytes([value])
    head = b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\0\0" + bytes(3) + b"\xff" * 3 + b"," + struct.pack("<HHHH", 0, 0, width, height) + b"\0\2"
    blocks = b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255)) + b"\0;"
    open(name, "wb").write(head + blocks[:len(blocks) - cut])


gif("good.gif", 5000, 5000, 5000 * 5000)
png("alike.png", 13000, 13000, zeros(13000 * 39001))
gif("few.gif", 5450, 5450, 5450 * 5000)
gif("cut.gif", 5450, 5450, 5450 * 5450, cut=300)
png("last.png", 10000, 10000, zeros(10000 * 30001 - 40000), before=chunk(b"tEXt", b"k\0" + bytes(2300000)))
open("pixels.gif", "wb").write(b"GIF89a" + struct.pack("<HH", 13000, 13000) + b"\x80\0\0" + bytes(3) + b"\xff" * 3 + b"," +
                               struct.pack("<HHHH", 0, 0, 13000, 13000) + b"\0\2\2\x44\1\0;")
png("good.png", 4, 3, zlib.compress(b"\0" + bytes(12) + (b"\0" + bytes(12)) * 2))


def settings(name, kind, **values):
    os.makedirs(name)
    json.dump({"image_processor_type": kind + "ImageProcessor", **values}, open(name + "/preprocessor_config.json", "w"))


settings("vit", "ViT")
settings("wide", "ViT", size={"height": 1, "width": 65535}, do_resize=True)
settings("huge", "ViT", size={"height": 65535, "width": 65535})
settings("tiles", "Idefics3", size={"longest_edge": 4096}, max_image_size={"longest_edge": 1})
settings("pins", "LlavaNext", image_grid_pinpoints=[[13000, 13000]] * 256, size={"shortest_edge": 1}, crop_size=1)
settings("patches", "Siglip2", patch_size=60000, max_num_patches=1 << 20)
settings("rows", "Pix2Struct", patch_size=8000, max_patches=1 << 20)
settings("pixels", "Qwen2VL", min_pixels=2147483647, max_pixels=2147483647)
# Padded to a square of the longer side, and blurred: 119 bytes took 4 GB and more than 100 s.
settings("square", "Owlv2", size={"height": 960, "width": 960}, do_pad=True, do_resize=True, do_rescale=True)
settings("blur", "Owlv2", size={"height": 1, "width": 1}, do_pad=True, do_resize=True, do_rescale=True)
png("long.png", 13377, 1, zlib.compress(b"\0" + bytes(3 * 13377)))
png("longer.png", 4000, 1, zlib.compress(b"\0" + bytes(3 * 4000)))
os.makedirs("deep")
open("deep/preprocessor_config.json", "w").write('{"size":' * 100000)
PY
bounded 0 1 60 "$ASSAY" preprocess vit good.png
bounded 0 2 100 "$ASSAY" preprocess wide good.png
# refuses PICTURE WORDS, refuses_settings FOLDER WORDS
refuses()
{
	bounded 1 1 100 "$ASSAY" preprocess vit "$1"
	has err "^assay: $1: $2"
}
refuses_settings()
{
	bounded 1 1 100 "$ASSAY" preprocess "$1" good.png
	has err "$2"
}
refuses large.png 'PNG: a picture of 60000 x 60000 is too large: at most 65535 a side and 178956970 pixels$'
refuses line.png 'PNG: '
refuses empty.png 'PNG: a picture of 12000 x 12000 in [0-9]+ bytes: the file is damaged or truncated$'
refuses short.png 'PNG: '
refuses behind.png 'PNG: more compressed data than its rows have$'
bounded 0 1 100 "$ASSAY" preprocess vit noise.png
refuses scans.jpg 'JPEG: '
refuses gif.gif 'GIF: a picture of 65535 x 65535 is too large'
refuses vp8x.webp 'WebP: '
bounded 0,1 5 100 "$ASSAY" preprocess vit text.png
for name in texts.png palettes.png; do bounded 0 1 200 "$ASSAY" preprocess vit $name; done
refuses canvas.webp 'WebP: a picture of 13370 x 13370 in 94 bytes: its pixels are alike'
refuses frames.webp 'WebP: an animation of 262144 frames: at most 131072$'
refuses chunks.webp 'WebP: more than 65536 chunks besides frames$'
bounded 1 1 250 "$ASSAY" preprocess vit markers.jpg      # 190 MB of a file that is mapped; they were copied twice
has err 'markers.jpg: JPEG: the file is truncated$'
refuses refine.jpg 'JPEG: too many scans for a picture of this size$'
bounded 0 1 220 "$ASSAY" preprocess vit photo.jpg
refuses early.jpg 'JPEG: a scan ends early: the file is damaged or truncated$'
refuses cut.jpg 'JPEG: the file is truncated$'         # what ends early took all of its pixels before it was told
refuses half.jpg 'JPEG: a scan ends early: the file is damaged or truncated$'
refuses few.gif 'GIF: the image ends early: the file is damaged or truncated$'
refuses cut.gif 'GIF: Failed to read from given file$'
refuses last.png 'PNG: Not enough image data$'
refuses alike.png 'PNG: a picture of 13000 x 13000 in [0-9]+ bytes: its pixels are alike, as those of no photograph are; at most 29360128'
bounded 0 1 200 "$ASSAY" preprocess vit good.gif
refuses progressive.jpg 'JPEG: a picture of 13000 x 13000 in several scans .progressive. takes 968 MiB to decode; at most 512 are taken$'
refuses pixels.gif 'GIF: a picture of 13000 x 13000 in 35 bytes: its pixels are alike'
refuses none 'no picture that is read here'
refuses_settings huge 'a picture of 65535 x 65535 is too large'
refuses_settings patches 'is too large|would take more than'
refuses_settings rows 'would take more than'
refuses_settings pixels 'is too large|a side is 1 to 65535'
refuses_settings deep 'preprocessor_config.json: '
mkdir nothing && echo '{"image_processor_type": "PixtralImageProcessor", "patch_size": {}}' >nothing/preprocessor_config.json
refuses_settings nothing 'patch_size: height and width'                    # a division by it ended the program
refuses_settings tiles '[0-9]+ tiles of one picture: at most 1024$'
refuses_settings pins '169000000 tiles of one picture: at most 1024$'
bounded 1 1 100 "$ASSAY" preprocess square long.png
has err 'of 13377 x 1, would be padded to a square: at most 6144 a side are taken$'
bounded 1 2 400 "$ASSAY" preprocess blur longer.png
has err '4000 x 4000 pixels are blurred 1[0-9]* wide: at most 1073741824 steps are taken$'
if [ -n "${ASSAY_LONG-}" ]; then
	# Each of 1,024 tiles of a pixel became a picture of its own of 97 MB: 5.6 GB and minutes.
	mkdir grown && echo '{"image_processor_type": "LlavaNextImageProcessor", "crop_size": {"height": 1, "width": 1}, "image_grid_pinpoints": [[32, 32]], "size": {"shortest_edge": 5700}}' >grown/preprocessor_config.json
	bounded 1 12 1200 "$ASSAY" preprocess grown good.png
	has err 'what is made of one picture takes more than 268435456 pixels$'
	# Of tiles of a column one row each was made, and between the two passes 4 million pixels, which nobody counted: 9 GB.
	mkdir columns && echo '{"image_processor_type": "LlavaNextImageProcessor", "crop_size": {"height": 64, "width": 1}, "image_grid_pinpoints": [[65472, 1]], "size": {"height": 1, "width": 65535}}' >columns/preprocessor_config.json
	bounded 1 12 200 "$ASSAY" preprocess columns good.png
	has err 'what is made of one picture takes more than 268435456 pixels$'
fi
finish
