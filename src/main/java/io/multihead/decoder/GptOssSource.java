package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.load.StoredWeight;
import io.multihead.internal.load.WeightSource;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The tensors of a GPT-OSS folder. Its experts are tensors of codes {@code [experts, outputs, blocks, 16]} and of scales {@code [experts,
 * outputs, blocks]}. Even rows belong to gates, and odd rows to ups. The matrices of each expert appear as blocks of {@link
 * BlockType#MXFP4} under separate names. They are made when they are requested. The two codes of a byte are neighbors in the folder, and 16
 * elements apart in these blocks. A folder that is not quantized has tensors of numbers {@code [experts, inputs, outputs]} instead, and the
 * matrices are views of these tensors.
 */
final class GptOssSource implements WeightSource {
    private static final int CODE_BYTES = 16;
    private static final int MOST_EXPERTS = 1 << 16;
    private static final String GATE_UP = "gate_up_proj";
    private static final String DOWN = "down_proj";
    private static final String BLOCKS = "_blocks";
    private static final String SCALES = "_scales";
    private static final String BIAS = "_bias";
    private static final Pattern OF_ALL =
            Pattern.compile("(.*\\.mlp\\.experts\\.)(gate_up_proj|down_proj)(_blocks|_scales|_bias|)");
    private static final Pattern OF_ONE =
            Pattern.compile("(.*\\.mlp\\.experts\\.)(\\d{1,6})\\.(gate|up|down)_proj\\.(weight|bias)");

    private final WeightSource folder;
    private final Set<String> names = new LinkedHashSet<>();

    GptOssSource(WeightSource folder) {
        this.folder = folder;
        for (String name : folder.names()) {
            Matcher all = OF_ALL.matcher(name);
            if (!all.matches()) {
                names.add(name);
                continue;
            }
            boolean isBias = all.group(3).equals(BIAS);
            long experts = experts(name);
            for (long expert = 0; !all.group(3).equals(SCALES) && expert < experts; expert++) {
                String end = isBias ? ".bias" : ".weight";
                String begin = all.group(1) + expert + ".";
                if (all.group(2).equals(DOWN)) {
                    names.add(begin + DOWN + end);
                } else {
                    names.add(begin + "gate_proj" + end);
                    names.add(begin + "up_proj" + end);
                }
            }
        }
    }

    private long experts(String name) {
        Shape shape = folder.get(name, Shape.of()).shape();
        if (shape.rank() < 2 || shape.dim(0) > MOST_EXPERTS) {
            throw Checks.fail(
                    "tensor \"" + name + "\"",
                    "shape " + shape,
                    "expected [experts, outputs, ...] of at most " + MOST_EXPERTS + " experts");
        }
        return shape.dim(0);
    }

    @Override
    public Set<String> names() {
        return names;
    }

    @Override
    public StoredWeight get(String name, Shape expected) {
        Matcher one = matcher(name);
        if (one == null) {
            return folder.get(name, expected);
        }
        boolean isDown = one.group(3).equals("down");
        String all = one.group(1) + (isDown ? DOWN : GATE_UP);
        int expert = Integer.parseInt(one.group(2));
        int first = one.group(3).equals("up") ? 1 : 0;
        int step = isDown ? 1 : 2;
        if (one.group(4).equals("bias")) {
            return StoredWeight.of(rows(tensor(all + BIAS, 2, null).select(0, expert), first, step));
        }
        return folder.contains(all)
                ? StoredWeight.of(rows(tensor(all, 3, null).select(0, expert).permute(1, 0), first, step))
                : StoredWeight.of(blocks(all, expert, first, step));
    }

    @Override
    public StoredWeight like(String name, Shape expected) {
        return matcher(name) == null ? folder.like(name, expected) : get(name, expected);
    }

    @Override
    public boolean isChanged(String name) {
        return matcher(name) == null && folder.isChanged(name);
    }

    private @Nullable Matcher matcher(String name) {
        Matcher one = OF_ONE.matcher(name);
        return names.contains(name) && one.matches() ? one : null;
    }

    /** Returns every second row, or all rows. */
    private static Tensor rows(Tensor own, int first, int step) {
        long rows = own.dim(0) / step;
        long[] strides = own.rank() == 1 ? new long[] {step} : new long[] {own.stride(0) * step, own.stride(1)};
        Shape shape = own.rank() == 1 ? Shape.of(rows) : Shape.of(rows, own.dim(1));
        return Tensor.view(own.memory(), own.dtype(), shape, own.offset() + first * own.stride(0), strides);
    }

    private Tensor tensor(String name, int rank, @Nullable DType type) {
        if (!folder.contains(name)) {
            throw Checks.fail("tensor \"" + name + "\"", "not in the folder", "expected a tensor for " + BLOCKS);
        }
        Tensor tensor = folder.get(name, Shape.of()).plain();
        if (tensor.rank() != rank || !tensor.isDense() || type != null && tensor.dtype() != type) {
            throw Checks.fail(
                    "tensor \"" + name + "\"",
                    tensor.toString(),
                    "expected " + (type == null ? "" : "bytes of ") + rank + " axes");
        }
        return tensor;
    }

    private BlockTensor blocks(String all, int expert, int first, int step) {
        Tensor codes = tensor(all + BLOCKS, 4, DType.I8);
        Tensor scales = tensor(all + SCALES, 3, DType.I8);
        Shape expected = Shape.of(scales.dim(0), scales.dim(1), scales.dim(2), CODE_BYTES);
        if (!codes.shape().equals(expected) || scales.dim(1) % step != 0) {
            throw Checks.fail(
                    "tensor \"" + all + BLOCKS + "\"",
                    "shape " + codes.shape(),
                    "expected " + expected + (step == 2 ? ", an even number of rows" : ""));
        }
        int size = BlockType.MXFP4.bytes();
        long count = scales.dim(2);
        long rows = scales.dim(1) / step;
        byte[] bytes = new byte[Checks.fitsInt(rows * count * size, "bytes of an expert")];
        byte[] row = new byte[(int) count * CODE_BYTES];
        int at = 0;
        for (long i = 0; i < rows; i++) {
            long from = (expert * scales.dim(1) + i * step + first) * count;
            MemorySegment.copy(
                    codes.memory(), ValueLayout.JAVA_BYTE, codes.offset() + from * CODE_BYTES, row, 0, row.length);
            for (int block = 0; block < count; block++) {
                bytes[at] = scales.memory().get(ValueLayout.JAVA_BYTE, scales.offset() + from + block);
                reorder(row, block * CODE_BYTES, bytes, at + 1);
                at += size;
            }
        }
        long ofExpert = scales.dim(1) * count * CODE_BYTES;
        FileMemory.release(codes.memory(), codes.offset() + expert * ofExpert, ofExpert);
        Shape shape = Shape.of(rows, count * BlockType.MXFP4.elements());
        return BlockTensor.view(MemorySegment.ofArray(bytes), BlockType.MXFP4, shape, 0);
    }

    /** Converts bytes whose two codes are neighbors to bytes whose two codes are 16 elements apart. */
    private static void reorder(byte[] from, int at, byte[] to, int t0) {
        for (int i = 0; i < CODE_BYTES; i++) {
            int half = i % 2 * 4;
            int low = from[at + i / 2] >> half & 15;
            int high = from[at + CODE_BYTES / 2 + i / 2] >> half & 15;
            to[t0 + i] = (byte) (low | high << 4);
        }
    }

    @Override
    public long bytes(String name) {
        Matcher one = matcher(name);
        if (one == null || one.group(4).equals("bias")) {
            return one == null ? folder.bytes(name) : 0;
        }
        String all = one.group(1) + (one.group(3).equals("down") ? DOWN : GATE_UP);
        boolean isPlain = folder.contains(all);
        Shape codes = folder.get(isPlain ? all : all + BLOCKS, Shape.of()).shape();
        long parts = codes.dim(0) * (one.group(3).equals("down") ? 1 : 2);
        return isPlain ? folder.bytes(all) / parts : codes.elements() / parts / CODE_BYTES * BlockType.MXFP4.bytes();
    }
}
