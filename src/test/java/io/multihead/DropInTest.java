package io.multihead;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.gemm.Activation;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ReferenceBlockGemm;
import io.multihead.reference.ReferenceGemm;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.support.Blocks;
import io.multihead.support.Numbers;
import io.multihead.support.PageCode;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The methods in docs/drop-in.md and docs/reference/drop-in.md are compared with the specification. */
class DropInTest {
    private static final Compute CPU = Compute.serial();
    private static final int HEADS = 4;
    private static final int KEY_HEADS = 2;
    private static final int DIM = 16;

    @Test
    void pagesHaveThisCode() throws IOException {
        Path source = Path.of("src/test/java/io/multihead/DropInTest.java");
        PageCode.isTested(Path.of("docs/drop-in.md"), source);
        PageCode.isTested(Path.of("docs/reference/drop-in.md"), source);
    }

    @Test
    void quantizedProducts(@TempDir Path folder) throws IOException {
        SplittableRandom random = new SplittableRandom(9);
        for (BlockType type : BlockType.values()) {
            BlockTensor blocks = Blocks.random(type, 40, 512, random);
            Path model = folder.resolve(type.name());
            Files.write(model, blocks.memory().toArray(ValueLayout.JAVA_BYTE));
            try (Arena arena = Arena.ofShared();
                    FileChannel channel = FileChannel.open(model)) {
                MemorySegment file = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
                PackedWeights weights = pack(file, blocks.offset(), type, new long[] {40, 512}, arena);
                for (int tokens : new int[] {1, 20}) {
                    float[] x = floats(tokens * 512, 4);
                    float[] out = new float[tokens * 40];
                    multiply(CPU, weights, x, out, tokens);
                    ReferenceGemm.Result expected = ReferenceBlockGemm.multiply(Tensor.of(x, tokens, 512), blocks);
                    double[] actual = Numbers.of(Tensor.of(out, tokens, 40));
                    double ratio = Tolerance.ratio(actual, expected.values(), expected.errorScale(), DType.F32);
                    assertTrue(ratio <= 1, type + ": R = " + ratio);
                }
            }
        }
    }

    private static PackedWeights pack(
            MemorySegment file, long offset, BlockType type, long[] outputsAndInputs, Arena arena) {
        return PackedWeights.ofOutputRows(arena, BlockTensor.view(file, type, Shape.of(outputsAndInputs), offset));
    }

    private static void multiply(Compute cpu, PackedWeights weights, float[] x, float[] out, int tokens) {
        Tensor input = Tensor.of(x, tokens, weights.inputs()), output = Tensor.of(out, tokens, weights.outputs());
        Gemm.multiply(cpu, input, weights, output, GemmOptions.DEFAULT);
    }

    @Test
    void flatArrays() {
        int context = 50;
        int position = 33;
        float[] q = floats(HEADS * DIM, 1);
        float[] keyCache = floats(context * KEY_HEADS * DIM, 2);
        float[] valueCache = floats(context * KEY_HEADS * DIM, 3);
        float[] out = new float[HEADS * DIM];
        flatArrays(CPU, new int[] {HEADS, KEY_HEADS, DIM}, q, keyCache, valueCache, position, out);
        Tensor keys = Tensor.of(keyCache, 1, context, KEY_HEADS, DIM).slice(1, 0, position + 1);
        Tensor values = Tensor.of(valueCache, 1, context, KEY_HEADS, DIM).slice(1, 0, position + 1);
        check(Tensor.of(q, 1, HEADS, 1, DIM), keys, values, Tensor.of(out, 1, HEADS, 1, DIM));
    }

    private static void flatArrays(
            Compute cpu, int[] sizes, float[] q, float[] keyCache, float[] valueCache, int position, float[] out) {
        int heads = sizes[0],
                keyValueHeads = sizes[1],
                dim = sizes[2],
                context = keyCache.length / (keyValueHeads * dim);
        Tensor query = Tensor.of(q, 1, heads, 1, dim);
        Tensor keys = Tensor.of(keyCache, 1, context, keyValueHeads, dim)
                .slice(1, 0, position + 1)
                .permute(0, 2, 1, 3);
        Tensor values = Tensor.of(valueCache, 1, context, keyValueHeads, dim)
                .slice(1, 0, position + 1)
                .permute(0, 2, 1, 3);
        Attention.forward(cpu, query, keys, values, Tensor.of(out, 1, heads, 1, dim), AttentionOptions.CAUSAL);
    }

    @Test
    void bufferPages() {
        Shape page = Shape.of(20, KEY_HEADS, DIM);
        List<ByteBuffer> keys = new ArrayList<>();
        List<ByteBuffer> values = new ArrayList<>();
        Tensor allKeys = Tensor.of(new float[60 * KEY_HEADS * DIM], 1, 60, KEY_HEADS, DIM);
        Tensor allValues = Tensor.of(new float[60 * KEY_HEADS * DIM], 1, 60, KEY_HEADS, DIM);
        for (int p = 0; p < 3; p++) {
            keys.add(page(page, p, allKeys));
            values.add(page(page, p + 10, allValues));
        }
        Tensor query = Tensor.of(floats(HEADS * 3 * DIM, 1), 1, HEADS, 3, DIM);
        Tensor output = Tensor.of(new float[HEADS * 3 * DIM], 1, HEADS, 3, DIM);
        bufferPages(CPU, query, keys, values, page, output, 57);
        check(query, allKeys.slice(1, 0, 57), allValues.slice(1, 0, 57), output);
    }

    private static ByteBuffer page(Shape shape, int seed, Tensor all) {
        ByteBuffer buffer =
                ByteBuffer.allocateDirect((int) shape.elements() * Short.BYTES).order(ByteOrder.nativeOrder());
        Tensor page = Tensor.of(buffer, DType.BF16, shape.toArray());
        Tensor.of(floats((int) shape.elements(), seed), shape.toArray()).copyTo(page);
        page.copyTo(all.select(0, 0).slice(0, seed % 10 * 20, seed % 10 * 20 + 20));
        return buffer;
    }

    private static void bufferPages(
            Compute cpu,
            Tensor query,
            List<ByteBuffer> keys,
            List<ByteBuffer> values,
            Shape page,
            Tensor output,
            long tokens) {
        KeyValueView view = KeyValueView.pages(tensors(keys, page), tensors(values, page), tokens);
        Attention.forward(cpu, query, view, AttentionOutputs.of(output), AttentionOptions.CAUSAL);
    }

    private static List<Tensor> tensors(List<ByteBuffer> pages, Shape page) {
        return pages.stream()
                .map(p -> Tensor.of(p, DType.BF16, page.toArray()).permute(1, 0, 2))
                .toList();
    }

    @Test
    void staticCache() {
        long[] lengths = {30, 7};
        Tensor keys = Tensor.of(floats(2 * KEY_HEADS * 40 * DIM, 2), 2, KEY_HEADS, 40, DIM);
        Tensor values = Tensor.of(floats(2 * KEY_HEADS * 40 * DIM, 3), 2, KEY_HEADS, 40, DIM);
        Tensor query = Tensor.of(floats(2 * HEADS * 3 * DIM, 1), 2, HEADS, 3, DIM);
        Tensor output = Tensor.of(new float[2 * HEADS * 3 * DIM], 2, HEADS, 3, DIM);
        staticCache(CPU, query, keys, values, lengths, output);
        ScoreRule rule = ScoreRule.causalFrom(ScoreRule.bottomRight(3, lengths)).and(ScoreRule.keyLengths(lengths));
        within(Numbers.of(output), ReferenceAttention.forward(query, keys, values, 1 / Math.sqrt(DIM), rule));
    }

    private static void staticCache(
            Compute cpu, Tensor query, Tensor keyCache, Tensor valueCache, long[] lengths, Tensor output) {
        KeyValueView view = KeyValueView.of(keyCache, valueCache, lengths);
        Attention.forward(cpu, query, view, AttentionOutputs.of(output), AttentionOptions.CAUSAL);
    }

    @Test
    void floatBuffers() {
        long[] sizes = {2, 7, HEADS, DIM};
        FloatBuffer[] buffers = new FloatBuffer[4];
        for (int i = 0; i < 4; i++) {
            buffers[i] = FloatBuffer.wrap(floats(2 * 7 * HEADS * DIM, i + 1));
        }
        floatBuffers(CPU, sizes, buffers[0], buffers[1], buffers[2], buffers[3]);
        Tensor query = view(buffers[0], sizes);
        ReferenceAttention.Result expected = ReferenceAttention.forward(
                query, view(buffers[1], sizes), view(buffers[2], sizes), 0.25, ScoreRule.NONE);
        within(Numbers.of(view(buffers[3], sizes)), expected);
    }

    /**
     * A direct buffer is big-endian unless its caller changes the order. If its bytes were read as little-endian, -0.0364 would become
     * 6.9e-41.
     */
    @Test
    void buffersOfTheOtherByteOrderAreRefused() {
        long[] sizes = {1, 2, HEADS, DIM};
        int bytes = 2 * HEADS * DIM * Float.BYTES;
        FloatBuffer direct =
                ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder()).asFloatBuffer();
        floatBuffers(CPU, sizes, direct, direct, direct, FloatBuffer.allocate(2 * HEADS * DIM));
        FloatBuffer foreign = ByteBuffer.allocateDirect(bytes).asFloatBuffer();
        Named.message(
                "buffer: its order is BIG_ENDIAN; expected LITTLE_ENDIAN, as ByteBuffer.order(ByteOrder.nativeOrder()) sets"
                        + " it before a view of it is made",
                () -> floatBuffers(CPU, sizes, foreign, direct, direct, direct));
        Shape page = Shape.of(20, KEY_HEADS, DIM);
        ByteBuffer pages = ByteBuffer.allocateDirect((int) page.elements() * Short.BYTES);
        Named.mentions(() -> tensors(List.of(pages), page), "buffer: its order is BIG_ENDIAN; expected LITTLE_ENDIAN");
    }

    private static void floatBuffers(
            Compute cpu, long[] sizes, FloatBuffer query, FloatBuffer key, FloatBuffer value, FloatBuffer output) {
        Attention.forward(
                cpu,
                view(query, sizes),
                view(key, sizes),
                view(value, sizes),
                view(output, sizes),
                AttentionOptions.DEFAULT);
    }

    private static Tensor view(FloatBuffer buffer, long[] sizes) {
        return Tensor.of(buffer, DType.F32, sizes).permute(0, 2, 1, 3);
    }

    @Test
    void documentsSeeThemselves() {
        int[] documents = {1, 1, 2, 2, 2, 1};
        int n = documents.length;
        Tensor query = Tensor.of(floats(HEADS * n * DIM, 1), 1, HEADS, n, DIM);
        Tensor key = Tensor.of(floats(HEADS * n * DIM, 2), 1, HEADS, n, DIM);
        Tensor value = Tensor.of(floats(HEADS * n * DIM, 3), 1, HEADS, n, DIM);
        Tensor output = Tensor.of(new float[HEADS * n * DIM], 1, HEADS, n, DIM);
        Attention.forward(CPU, query, key, value, output, documents(documents));
        ScoreRule rule = (b, h, i, j, score) ->
                j <= i && documents[(int) i] == documents[(int) j] ? score : Double.NEGATIVE_INFINITY;
        within(Numbers.of(output), ReferenceAttention.forward(query, key, value, 1 / Math.sqrt(DIM), rule));
    }

    private static AttentionOptions documents(int... documents) {
        int tokens = documents.length;
        boolean[] keep = new boolean[tokens * tokens];
        for (int i = 0; i < tokens * tokens; i++) {
            keep[i] = documents[i / tokens] == documents[i % tokens];
        }
        return AttentionOptions.DEFAULT.withMask(Mask.CAUSAL.and(Mask.keep(Tensor.of(keep, tokens, tokens))));
    }

    /** The values are small integers, whose sums are exact in f32. */
    @Test
    void productsWithBiasAndActivation() {
        float[] x = {1, 2, 3, -1, 0, 5};
        float[] w = {1, 0, 2, -3, 1, 1, 4, -1, 0, 0, 0, -1};
        float[] bias = {10, -1, 0, 2};
        float[] out = new float[8];
        linear(CPU, x, w, bias, out);
        assertArrayEquals(new float[] {17, 1, 2, 0, 19, 7, 0, 0}, out);
    }

    private static void linear(Compute cpu, float[] x, float[] w, float[] bias, float[] out) {
        int outputs = bias.length, inputs = w.length / outputs, rows = x.length / inputs;
        GemmOptions options = GemmOptions.DEFAULT
                .withTransposeB(true)
                .withBias(Tensor.of(bias))
                .withActivation(Activation.RELU);
        Gemm.multiply(
                cpu, Tensor.of(x, rows, inputs), Tensor.of(w, outputs, inputs), Tensor.of(out, rows, outputs), options);
    }

    @Test
    void nestedArrays() {
        try (Arena arena = Arena.ofConfined()) {
            MultiHeadAttention layer = MultiHeadAttention.initialize(arena, MultiHeadConfig.of(24, 3), 1);
            float[][][] x = new float[2][5][];
            Tensor flat = Tensor.of(new float[2 * 5 * 24], 2, 5, 24);
            for (int i = 0; i < 10; i++) {
                x[i / 5][i % 5] = floats(24, i);
                Tensor.of(x[i / 5][i % 5]).copyTo(flat.select(0, i / 5).select(0, i % 5));
            }
            Tensor expected = Tensor.of(new float[2 * 5 * 24], 2, 5, 24);
            layer.forward(CPU, flat, expected);
            float[][][] y = nestedArrays(CPU, layer, x);
            for (int i = 0; i < 10 * 24; i++) {
                float actual = y[i / 120][i / 24 % 5][i % 24];
                assertTrue(actual == expected.get(i / 120, i / 24 % 5, i % 24), "element " + i);
            }
        }
    }

    private static float[][][] nestedArrays(Compute cpu, MultiHeadAttention layer, float[][][] x) {
        int tokens = x[0].length, features = x[0][0].length;
        Tensor in = Tensor.of(new float[x.length * tokens * features], x.length, tokens, features);
        Tensor out = Tensor.of(new float[x.length * tokens * features], x.length, tokens, features);
        for (int i = 0; i < x.length * tokens; i++)
            Tensor.of(x[i / tokens][i % tokens]).copyTo(in.select(0, i / tokens).select(0, i % tokens));
        layer.forward(cpu, in, out);
        float[][][] y = new float[x.length][tokens][features];
        for (int i = 0; i < x.length * tokens; i++)
            out.select(0, i / tokens).select(0, i % tokens).copyTo(Tensor.of(y[i / tokens][i % tokens]));
        return y;
    }

    /** Keys and values have the shape {@code [1, tokens, heads, dim]}. */
    private static void check(Tensor query, Tensor keys, Tensor values, Tensor output) {
        ReferenceAttention.Result expected = ReferenceAttention.forward(
                query,
                keys.permute(0, 2, 1, 3),
                values.permute(0, 2, 1, 3),
                1 / Math.sqrt(DIM),
                ScoreRule.causal(query.dim(2), keys.dim(1)));
        within(Numbers.of(output), expected);
    }

    private static void within(double[] actual, ReferenceAttention.Result expected) {
        double ratio = Tolerance.ratio(actual, expected.output(), expected.errorScale(), DType.F32);
        assertTrue(ratio <= Tolerance.FORWARD_ORDINARY, "R = " + ratio);
    }

    private static float[] floats(int length, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return values;
    }
}
