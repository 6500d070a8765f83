package io.multihead.decoder;

import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.reference.ReferenceLinearAttention;
import io.multihead.reference.ReferenceTransformer.Linear;
import io.multihead.reference.ReferenceTransformer.Norm;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;

/** The linear attention and the gates of a small model: their tensors as in GGUF files, their names in folders, and the specification. */
final class FamilyLinear {
    static final String TYPE = "qwen3_5_text";
    static final String TYPE_OF_EXPERTS = "qwen3_5_moe_text";

    private static final int KEY_HEADS = 2;
    private static final int VALUE_HEADS = 4;
    private static final int HEAD_DIM = 32;
    private static final int TAPS = 4;
    private static final int WIDTH = VALUE_HEADS * HEAD_DIM;
    private static final int CHANNELS = 2 * KEY_HEADS * HEAD_DIM + WIDTH;

    private static final Map<String, String> NAMES = Map.of(
            "attn_qkv.weight", "in_proj_qkv.weight",
            "attn_gate.weight", "in_proj_z.weight",
            "ssm_beta.weight", "in_proj_b.weight",
            "ssm_alpha.weight", "in_proj_a.weight",
            "ssm_conv1d.weight", "conv1d.weight",
            "ssm_a", "A_log",
            "ssm_dt.bias", "dt_bias",
            "ssm_norm.weight", "norm.weight",
            "ssm_out.weight", "out_proj.weight");

    private FamilyLinear() {}

    /** Draws a tensor. */
    interface Draw {
        void of(String name, double mean, double deviation, long... shape);
    }

    static void draw(Draw draw, String at, int dim) {
        draw.of(at + "attn_norm.weight", 1, 0.2, dim);
        draw.of(at + "attn_qkv.weight", 0.02, 0.12, CHANNELS, dim);
        draw.of(at + "attn_gate.weight", 0.02, 0.12, WIDTH, dim);
        draw.of(at + "ssm_beta.weight", 0.02, 0.12, VALUE_HEADS, dim);
        draw.of(at + "ssm_alpha.weight", 0.02, 0.12, VALUE_HEADS, dim);
        draw.of(at + "ssm_conv1d.weight", 0.3, 0.5, CHANNELS, TAPS);
        draw.of(at + "ssm_a", -1, 0.1, VALUE_HEADS);
        draw.of(at + "ssm_dt.bias", -2, 1, VALUE_HEADS);
        draw.of(at + "ssm_norm.weight", 1, 0.3, HEAD_DIM);
        draw.of(at + "ssm_out.weight", 0.02, 0.1, dim, WIDTH);
    }

    static void metadata(GgufWriter writer, String at) {
        writer.put(at + "ssm.conv_kernel", FamilyFile.number(TAPS))
                .put(at + "ssm.state_size", FamilyFile.number(HEAD_DIM))
                .put(at + "ssm.group_count", FamilyFile.number(KEY_HEADS))
                .put(at + "ssm.time_step_rank", FamilyFile.number(VALUE_HEADS))
                .put(at + "ssm.inner_size", FamilyFile.number(WIDTH))
                .put(at + "full_attention_interval", FamilyFile.number(4))
                .put(at + "rope.dimension_sections", GgufValue.ofIntegers(GgufType.I32, 2, 1, 1, 0));
    }

    static String config(double theta) {
        return ", \"linear_conv_kernel_dim\": " + TAPS + ", \"linear_key_head_dim\": " + HEAD_DIM
                + ", \"linear_value_head_dim\": " + HEAD_DIM + ", \"linear_num_key_heads\": " + KEY_HEADS
                + ", \"linear_num_value_heads\": " + VALUE_HEADS + ", \"rope_parameters\": {\"rope_type\": \"default\","
                + " \"rope_theta\": " + theta + ", \"partial_rotary_factor\": 0.25, \"mrope_interleaved\": true,"
                + " \"mrope_section\": [2, 1, 1]}";
    }

    static boolean hasName(String name) {
        return name.startsWith("blk.") && NAMES.containsKey(name.substring(name.indexOf('.', 4) + 1));
    }

    static String huggingFaceName(String name) {
        int end = name.indexOf('.', 4);
        return "model.layers." + name.substring(4, end) + ".linear_attn." + NAMES.get(name.substring(end + 1));
    }

    /** Returns the rounded logarithms of the absolute values of slopes, and replaces the slopes by the values of these logarithms. */
    static Tensor logarithms(float... slopes) {
        float[] logarithms = new float[slopes.length];
        for (int i = 0; i < slopes.length; i++) {
            logarithms[i] = (float) Math.log(-slopes[i]);
            slopes[i] = (float) -Math.exp(logarithms[i]);
        }
        return Tensor.of(logarithms);
    }

    /**
     * Returns the specification of the layer.
     *
     * @param tiled whether heads have the order of GGUF files
     */
    static ReferenceLinearAttention of(
            Function<String, Linear> linear, Function<String, double[]> numbers, Norm norm, String at, boolean tiled) {
        List<Linear> projections = Stream.of("attn_qkv", "attn_gate", "ssm_beta", "ssm_alpha")
                .map(name -> linear.apply(at + name + ".weight"))
                .toList();
        double[] decay = Arrays.copyOf(numbers.apply(at + "ssm_a"), 2 * VALUE_HEADS);
        System.arraycopy(numbers.apply(at + "ssm_dt.bias"), 0, decay, VALUE_HEADS, VALUE_HEADS);
        return new ReferenceLinearAttention(
                projections,
                numbers.apply(at + "ssm_conv1d.weight"),
                decay,
                norm,
                linear.apply(at + "ssm_out.weight"),
                new ReferenceLinearAttention.Heads(KEY_HEADS, VALUE_HEADS, tiled));
    }

    /**
     * Returns half of a projection. Each head has two parts of {@code headDim} rows, and the half consists of the parts that begin at row
     * {@code from} of each head.
     */
    static Linear half(Linear of, int headDim, int from) {
        double[] weight = new double[of.weight().length / 2];
        for (int row = 0; row < of.outputs() / 2; row++) {
            int read = row / headDim * 2 * headDim + from + row % headDim;
            System.arraycopy(of.weight(), read * of.inputs(), weight, row * of.inputs(), of.inputs());
        }
        return new Linear(weight, null, of.outputs() / 2, of.inputs());
    }
}
