package io.multihead.encoder;

import io.multihead.analysis.HeadImportance;
import io.multihead.analysis.HeadPruning;
import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.gemm.Activation;
import io.multihead.nn.LayerNorm;
import io.multihead.nn.Pass;
import io.multihead.nn.Sequence;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A trained BERT encoder as layers with gradients. */
public record TrainedHeads(Compute cpu, Arena arena, Function<String, Tensor> weights, List<TransformerBlock> blocks) {
    /** The names of parameters in the blocks and in BERT. */
    private static final Map<String, String> NAMES = Map.of(
            "self_attn.q_proj_weight", "attention.self.query.weight",
            "self_attn.k_proj_weight", "attention.self.key.weight",
            "self_attn.v_proj_weight", "attention.self.value.weight",
            "self_attn.out_proj.", "attention.output.dense.",
            "linear1.", "intermediate.dense.",
            "linear2.", "output.dense.",
            "norm1.", "attention.output.LayerNorm.",
            "norm2.", "output.LayerNorm.");

    static TrainedHeads of(
            Compute cpu, Arena arena, Function<String, Tensor> weights, TransformerBlock.Config config, int layers) {
        List<TransformerBlock> blocks = new ArrayList<>();
        for (int layer = 0; layer < layers; layer++) {
            String at = "encoder.layer." + layer + ".";
            Map<String, Tensor> parameters = new HashMap<>();
            NAMES.forEach((ours, theirs) -> {
                for (String part : ours.endsWith(".") ? List.of("weight", "bias") : List.of("")) {
                    parameters.put(ours + part, weights.apply(at + theirs + part));
                }
            });
            Tensor[] biases = Stream.of("query", "key", "value")
                    .map(name -> weights.apply(at + "attention.self." + name + ".bias"))
                    .toArray(Tensor[]::new);
            Tensor bias = Tensor.zeros(arena, DType.F32, 3 * biases[0].dim(0));
            Tensor.concat(0, bias, biases);
            parameters.put("self_attn.in_proj_bias", bias);
            blocks.add(TransformerBlock.of(config, parameters::get));
        }
        return new TrainedHeads(cpu, arena, weights, blocks);
    }

    /**
     * Returns the input of the first block, {@code [1, tokens, dim]}, which is the normalized sum of word, position and type embeddings.
     */
    Tensor embedded(int... ids) {
        Tensor words = weights.apply("embeddings.word_embeddings.weight");
        Tensor positions = weights.apply("embeddings.position_embeddings.weight");
        Tensor types = weights.apply("embeddings.token_type_embeddings.weight");
        long dim = words.dim(1);
        Tensor x = Tensor.zeros(arena, DType.F32, 1, ids.length, dim);
        for (int t = 0; t < ids.length; t++) {
            for (int i = 0; i < dim; i++) {
                x.set(words.get(ids[t], i) + positions.get(t, i) + types.get(0, i), 0, t, i);
            }
        }
        Tensor weight = weights.apply("embeddings.LayerNorm.weight");
        Tensor bias = weights.apply("embeddings.LayerNorm.bias");
        double epsilon = blocks.getFirst().config().epsilon();
        Tensor y = Tensor.zeros(arena, DType.F32, 1, ids.length, dim);
        LayerNorm.of(Shape.of(dim), epsilon, weight, bias).forward(cpu, x, y);
        return y;
    }

    /** Returns the blocks with a mask that keeps only the given heads. */
    Sequence masked(boolean[][] kept) {
        List<TransformerBlock> masked = new ArrayList<>();
        for (int layer = 0; layer < kept.length; layer++) {
            Tensor flags = Tensor.of(kept[layer], 1, kept[layer].length);
            masked.add(blocks.get(layer).withHeadMask(flags.copy(arena, DType.F32)));
        }
        return Sequence.of("", masked);
    }

    /** Returns the similarity of a text to a vector, which is the product of the vector and the mean of the last states of the text. */
    double similarity(Tensor text, float[] vector, boolean[][] kept) {
        Tensor states = Tensor.zeros(arena, DType.F32, 1, text.dim(1), text.dim(2));
        masked(kept).forward(cpu, text, states);
        double sum = 0;
        for (int t = 0; t < text.dim(1); t++) {
            for (int i = 0; i < vector.length; i++) {
                sum += states.get(0, t, i) * vector[i] / text.dim(1);
            }
        }
        return sum;
    }

    /** Returns the influence of each head on the similarity of each text to its vector, {@code [layer][head]}. */
    double[][] importance(List<Tensor> texts, List<float[]> vectors, boolean[][] kept) {
        List<Tensor> gradients = IntStream.range(0, kept.length)
                .mapToObj(layer -> Tensor.zeros(arena, DType.F32, texts.size(), kept[layer].length))
                .toList();
        Sequence model = masked(kept);
        for (int n = 0; n < texts.size(); n++) {
            Tensor x = texts.get(n);
            Tensor states = Tensor.zeros(arena, DType.F32, 1, x.dim(1), x.dim(2));
            float[] part = vectors.get(n).clone();
            for (int i = 0; i < part.length; i++) {
                part[i] /= x.dim(1);
            }
            Tensor upstream = Tensor.of(part, 1, 1, part.length).broadcast(1, x.dim(1), part.length);
            Map<String, Tensor> wanted = new HashMap<>();
            for (int layer = 0; layer < kept.length; layer++) {
                wanted.put(layer + ".self_attn.head_mask", gradients.get(layer).slice(0, n, n + 1));
            }
            try (Pass pass = model.record(cpu, x, states, 0)) {
                pass.backward(upstream, null, wanted);
            }
        }
        return gradients.stream()
                .map(layer -> HeadImportance.normalized(HeadImportance.of(layer)))
                .toArray(double[][]::new);
    }

    /** Returns the blocks with {@code survivors} heads in total, without the weights of the other heads. */
    List<TransformerBlock> pruned(List<Tensor> texts, List<float[]> vectors, int heads, int survivors) {
        HeadPruning.Result result = HeadPruning.greedyTo(
                blocks.size(),
                heads,
                survivors,
                kept -> IntStream.range(0, texts.size())
                        .mapToDouble(n -> similarity(texts.get(n), vectors.get(n), kept) / texts.size())
                        .sum(),
                kept -> importance(texts, vectors, kept));
        result.steps().forEach(System.out::println); // the layer, the head, and the remaining mean similarity
        return IntStream.range(0, blocks.size())
                .mapToObj(layer -> blocks.get(layer).keepHeads(arena, result.survivors(layer)))
                .toList();
    }

    /** Removes half of the heads of all-MiniLM-L6-v2, keeping the similarity of texts to their paraphrases. */
    static List<TransformerBlock> halved(Compute cpu, Arena arena, Path folder, List<String> texts, List<String> same)
            throws IOException {
        TransformerBlock.Config config = TransformerBlock.Config.of(384, 12, 1536)
                .withActivation(Activation.GELU)
                .withEpsilon(1e-12);
        try (SentenceEncoder encoder = SentenceEncoder.load(cpu, folder)) {
            Safetensors file = Safetensors.map(arena, folder.resolve("model.safetensors"));
            TrainedHeads model = of(cpu, arena, file::get, config, 6);
            List<Tensor> inputs = texts.stream()
                    .map(text -> model.embedded(encoder.tokenizer().encodeWithSpecialTokens(text, encoder.maxTokens())))
                    .toList();
            return model.pruned(inputs, List.of(encoder.embed(same)), 12, 36);
        }
    }
}
