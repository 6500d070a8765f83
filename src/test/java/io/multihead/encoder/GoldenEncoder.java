package io.multihead.encoder;

import io.multihead.support.OnnxMessage;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Encoders with random weights and the structure of their families, but narrower rows. ONNX graphs compute them operation by operation,
 * like the code of their authors. The program that writes the expected vectors and the test that compares them use this class, which needs
 * only the JDK.
 */
public final class GoldenEncoder {
    /** The number of elements of a vector. */
    public static final int DIM = 128;

    static final int HEADS = 2;
    static final int VOCABULARY = 300;
    static final int LABELS = 3;
    private static final int HEAD_DIM = DIM / HEADS;

    /** The number of tokens of each text, from less than a window to more than a window on both sides. */
    private static final int[] LENGTHS = {2, 40, 200};

    private final GoldenGraph graph;
    private final String[] inputs;

    private GoldenEncoder(GoldenGraph graph, String... inputs) {
        this.graph = graph;
        this.inputs = inputs;
    }

    /** Returns the ids of the texts. */
    public static long[][] texts() {
        SplittableRandom random = new SplittableRandom(5);
        return IntStream.of(LENGTHS)
                .mapToObj(length -> random.longs(length, 0, VOCABULARY).toArray())
                .toArray(long[][]::new);
    }

    /** Returns the token types of a text, for families that have token types. */
    public static long[] types(long[] ids) {
        return IntStream.range(0, ids.length)
                .mapToLong(token -> token < ids.length / 2 ? 0 : 1)
                .toArray();
    }

    /** Returns the indices of the tokens whose vectors are compared: the first, the last, and some between. */
    public static int[] tokens(long[] ids) {
        int step = Math.max(1, ids.length / 8);
        return IntStream.range(0, ids.length)
                .filter(token -> token % step == 0 || token == ids.length - 1)
                .toArray();
    }

    Map<String, GoldenGraph.Weight> weights() {
        return graph.weights();
    }

    /** Returns whether the graph reads token types. */
    public boolean hasTypes() {
        return inputs.length > 1;
    }

    /** Returns the graph. Its outputs are {@code last_hidden_state} and, if it has a head, logits. */
    public byte[] model() {
        return graph.model(inputs);
    }

    /**
     * Returns a ModernBERT of 22 layers, of which every third one is global, with heads of 64 and windows of 128, as in the models of the
     * paper.
     */
    public static GoldenEncoder modernBert() {
        GoldenGraph graph = new GoldenGraph(22);
        int inner = 3 * DIM / 2;
        String positions = graph.positions();
        List<String> global = graph.angles(positions, HEAD_DIM, 160_000);
        List<String> local = graph.angles(positions, HEAD_DIM, 10_000);
        String mask = window(graph, positions, 64);
        String words = graph.weight("embeddings.tok_embeddings.weight", 0, 1, VOCABULARY, DIM);
        String x = norm(graph, "embeddings.norm", graph.apply("Gather", words, "input_ids"));
        for (int layer = 0; layer < 22; layer++) {
            String name = "layers." + layer + ".";
            boolean isLocal = layer % 3 != 0;
            String read = layer == 0 ? x : norm(graph, name + "attn_norm", x);
            String projected = graph.linear(name + "attn.Wqkv", read, 3 * DIM, DIM, 1.3);
            String context = graph.attention(projected, HEADS, HEAD_DIM, isLocal ? local : global, isLocal ? mask : "");
            x = graph.add(x, graph.linear(name + "attn.Wo", context, DIM, DIM, 1));
            String both = graph.linear(name + "mlp.Wi", norm(graph, name + "mlp_norm", x), 2 * inner, DIM, 1);
            String hidden =
                    graph.multiply(graph.gelu(graph.slice(both, 2, 0, inner)), graph.slice(both, 2, inner, 2L * inner));
            x = graph.add(x, graph.linear(name + "mlp.Wo", hidden, DIM, inner, 1));
        }
        x = norm(graph, "final_norm", x);
        graph.output("last_hidden_state", x);
        String mean = graph.apply(
                "ReduceMean", List.of(OnnxMessage.integers("axes", 1), OnnxMessage.integer("keepdims", 0)), x);
        String pooled = graph.concat(0, graph.select(x, 1, 0), mean);
        String dense = graph.gelu(graph.linear("head.dense", pooled, DIM, DIM, 1));
        String last = graph.linear("classifier", norm(graph, "head.norm", dense), LABELS, DIM, 1);
        graph.output("logits", graph.add(last, graph.weight("classifier.bias", 0, 1, LABELS)));
        return new GoldenEncoder(graph, "input_ids");
    }

    /**
     * Returns a nomic BERT of 12 layers, with heads of 64 and four times as many inner elements as elements of a vector, as in the
     * published models.
     */
    public static GoldenEncoder nomicBert() {
        GoldenGraph graph = new GoldenGraph(12);
        int inner = 4 * DIM;
        List<String> angles = graph.angles(graph.positions(), HEAD_DIM, 1000);
        String words = graph.weight("embeddings.word_embeddings.weight", 0, 1, VOCABULARY, DIM);
        String types = graph.weight("embeddings.token_type_embeddings.weight", 0, 1, 2, DIM);
        String sum =
                graph.add(graph.apply("Gather", words, "input_ids"), graph.apply("Gather", types, "token_type_ids"));
        String x = graph.norm("emb_ln", sum, DIM, 1e-12f, true);
        for (int layer = 0; layer < 12; layer++) {
            String name = "encoder.layers." + layer + ".";
            String projected = graph.linear(name + "attn.Wqkv", x, 3 * DIM, DIM, 1.3);
            String context = graph.attention(projected, HEADS, HEAD_DIM, angles, "");
            String attended = graph.linear(name + "attn.out_proj", context, DIM, DIM, 1);
            String middle = graph.norm(name + "norm1", graph.add(attended, x), DIM, 1e-12f, true);
            String up = graph.linear(name + "mlp.fc11", middle, inner, DIM, 1);
            String gate = graph.silu(graph.linear(name + "mlp.fc12", middle, inner, DIM, 1));
            String fed = graph.linear(name + "mlp.fc2", graph.multiply(up, gate), DIM, inner, 1);
            x = graph.norm(name + "norm2", graph.add(fed, middle), DIM, 1e-12f, true);
        }
        graph.output("last_hidden_state", x);
        return new GoldenEncoder(graph, "input_ids", "token_type_ids");
    }

    private static String norm(GoldenGraph graph, String name, String x) {
        return graph.norm(name, x, DIM, 1e-5f, false);
    }

    /**
     * Returns the name of the numbers that are added to scores: 0 if positions differ by at most {@code reach}, else a number that removes
     * the key.
     */
    private static String window(GoldenGraph graph, String positions, int reach) {
        String distance = graph.apply(
                "Abs",
                graph.apply(
                        "Sub",
                        graph.apply("Unsqueeze", positions, graph.longs(0)),
                        graph.apply("Unsqueeze", positions, graph.longs(1))));
        String far = graph.apply("Greater", distance, graph.floats(reach));
        return graph.apply("Where", far, graph.floats(-Float.MAX_VALUE), graph.floats(0));
    }
}
