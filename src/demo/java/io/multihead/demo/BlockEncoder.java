package io.multihead.demo;

import io.multihead.attention.PackedSequences;
import io.multihead.compute.Compute;
import io.multihead.format.OnnxWeights;
import io.multihead.gemm.Activation;
import io.multihead.nn.Embedding;
import io.multihead.nn.LayerNorm;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The trained model as a stack of {@link TransformerBlock}, whose heads can be silenced by a factor of 0 or cut out for good. With all
 * heads its vectors are those of the encoder.
 */
final class BlockEncoder {
    static final int LAYERS = 6;
    static final int HEADS = 12;
    private static final int DIM = 384;
    private static final int INNER = 1536;
    private static final double EPSILON = 1e-12;
    /** As many as the encoder packs: activations stay in the cache. */
    private static final int BATCH_TOKENS = 512;

    private final Compute cpu;
    private final OnnxWeights weights;
    private final LayerNorm embeddingNorm;
    private final List<TransformerBlock> blocks;

    /** Texts that are computed together, and what goes into the first block. */
    record Batch(PackedSequences sequences, Tensor embedded) {}

    BlockEncoder(Compute cpu, OnnxWeights weights) {
        this(cpu, weights, blocks(weights));
    }

    private BlockEncoder(Compute cpu, OnnxWeights weights, List<TransformerBlock> blocks) {
        this.cpu = cpu;
        this.weights = weights;
        this.blocks = blocks;
        embeddingNorm = LayerNorm.of(
                Shape.of(DIM),
                EPSILON,
                weights.get("embeddings.LayerNorm.weight"),
                weights.get("embeddings.LayerNorm.bias"));
    }

    /** Returns the same model, which computes on other threads. */
    BlockEncoder on(Compute other) {
        return new BlockEncoder(other, weights, blocks);
    }

    private static List<TransformerBlock> blocks(OnnxWeights weights) {
        TransformerBlock.Config config = TransformerBlock.Config.of(DIM, HEADS, INNER)
                .withActivation(Activation.GELU)
                .withEpsilon(EPSILON);
        List<TransformerBlock> blocks = new ArrayList<>();
        for (int layer = 0; layer < LAYERS; layer++) {
            blocks.add(TransformerBlock.of(config, parameters(weights, "encoder.layer." + layer + ".")::get));
        }
        return List.copyOf(blocks);
    }

    /** BERT's names and PyTorch's. */
    private static Map<String, Tensor> parameters(OnnxWeights weights, String layer) {
        Map<String, String> modules = Map.of(
                "self_attn.out_proj", "attention.output.dense",
                "linear1", "intermediate.dense",
                "linear2", "output.dense",
                "norm1", "attention.output.LayerNorm",
                "norm2", "output.LayerNorm");
        Map<String, Tensor> parameters = new TreeMap<>();
        modules.forEach((name, module) -> {
            parameters.put(name + ".weight", weights.get(layer + module + ".weight"));
            parameters.put(name + ".bias", weights.get(layer + module + ".bias"));
        });
        Tensor bias = Tensor.of(new float[3 * DIM]);
        String[] projections = {"query", "key", "value"};
        for (int i = 0; i < projections.length; i++) {
            String module = layer + "attention.self." + projections[i];
            parameters.put("self_attn." + projections[i].charAt(0) + "_proj_weight", weights.get(module + ".weight"));
            weights.get(module + ".bias").copyTo(bias.slice(0, (long) i * DIM, (i + 1L) * DIM));
        }
        parameters.put("self_attn.in_proj_bias", bias);
        return parameters;
    }

    /** Tokenizes texts and adds up their embeddings, as many texts to a batch as fit. */
    List<Batch> batches(EncoderTokenizer tokenizer, List<String> texts) {
        List<Batch> batches = new ArrayList<>();
        List<int[]> open = new ArrayList<>();
        int tokens = 0;
        for (String text : texts) {
            int[] ids = tokenizer.encode(text, BATCH_TOKENS);
            if (tokens + ids.length > BATCH_TOKENS) {
                batches.add(batch(open));
                open.clear();
                tokens = 0;
            }
            open.add(ids);
            tokens += ids.length;
        }
        batches.add(batch(open));
        return List.copyOf(batches);
    }

    private Batch batch(List<int[]> texts) {
        PackedSequences sequences = PackedSequences.ofLengths(
                texts.stream().mapToLong(ids -> ids.length).toArray());
        int[] ids = texts.stream().flatMapToInt(Arrays::stream).toArray();
        int[] positions = texts.stream()
                .flatMapToInt(text -> java.util.stream.IntStream.range(0, text.length))
                .toArray();
        float[] sum = new float[ids.length * DIM];
        add(sum, "embeddings.word_embeddings.weight", ids);
        add(sum, "embeddings.token_type_embeddings.weight", new int[ids.length]);
        add(sum, "embeddings.position_embeddings.weight", positions);
        Tensor embedded = rows(ids.length);
        embeddingNorm.forward(cpu, Tensor.of(sum, ids.length, DIM), embedded);
        return new Batch(sequences, embedded);
    }

    private void add(float[] sum, String table, int... ids) {
        float[] more = new float[sum.length];
        Embedding.of(weights.get(table)).forward(cpu, ids, Tensor.of(more, ids.length, DIM));
        for (int i = 0; i < sum.length; i++) {
            sum[i] += more[i];
        }
    }

    /** Runs one block on a batch. */
    Tensor block(int layer, Batch batch, Tensor x) {
        return run(blocks.get(layer), batch, x);
    }

    /** Runs one block whose heads work only where they are kept. */
    Tensor block(int layer, Batch batch, Tensor x, boolean... kept) {
        float[] factors = new float[HEADS];
        int count = 0;
        for (int head = 0; head < HEADS; head++) {
            factors[head] = kept[head] ? 1 : 0;
            count += kept[head] ? 1 : 0;
        }
        TransformerBlock block = blocks.get(layer);
        return run(count == HEADS ? block : block.withHeadMask(Tensor.of(factors)), batch, x);
    }

    private Tensor run(TransformerBlock block, Batch batch, Tensor x) {
        Tensor y = rows(x.dim(0));
        block.withSequences(batch.sequences()).forward(cpu, x, y);
        return y;
    }

    /** Runs all blocks. */
    Tensor forward(Batch batch) {
        Tensor states = batch.embedded();
        for (int layer = 0; layer < blocks.size(); layer++) {
            states = block(layer, batch, states);
        }
        return states;
    }

    /** Adds the vectors of a batch's texts to a list: the mean of their tokens, of length 1. */
    static void pool(Batch batch, Tensor states, List<float[]> vectors) {
        float[] values = states.toArray();
        for (int text = 0; text < batch.sequences().count(); text++) {
            double[] sum = new double[DIM];
            for (int token = (int) batch.sequences().start(text);
                    token < batch.sequences().end(text);
                    token++) {
                for (int i = 0; i < DIM; i++) {
                    sum[i] += values[token * DIM + i];
                }
            }
            double length = Math.sqrt(Arrays.stream(sum).map(x -> x * x).sum());
            float[] vector = new float[DIM];
            for (int i = 0; i < DIM; i++) {
                vector[i] = (float) (sum[i] / length);
            }
            vectors.add(vector);
        }
    }

    /** Returns the model without the heads that are not kept: their weights are gone, not masked. */
    BlockEncoder keepHeads(boolean[][] kept) {
        List<TransformerBlock> smaller = new ArrayList<>();
        for (int layer = 0; layer < LAYERS; layer++) {
            boolean[] heads = kept[layer];
            int[] stay = java.util.stream.IntStream.range(0, HEADS)
                    .filter(head -> heads[head])
                    .toArray();
            smaller.add(blocks.get(layer).keepHeads(Arena.ofAuto(), stay));
        }
        return new BlockEncoder(cpu, weights, List.copyOf(smaller));
    }

    /** Returns how many weights all blocks have without some heads. */
    static long parameters(int removed) {
        long headDim = DIM / HEADS;
        long heads = (long) LAYERS * HEADS - removed;
        long others = LAYERS * (2L * DIM * INNER + INNER + DIM + DIM + 4L * DIM);
        return heads * headDim * (4L * DIM + 3) + others;
    }

    private static Tensor rows(long tokens) {
        return Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(tokens, DIM));
    }
}
