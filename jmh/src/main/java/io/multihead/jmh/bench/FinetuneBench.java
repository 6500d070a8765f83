package io.multihead.jmh.bench;

import io.multihead.format.Safetensors;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Torch;
import io.multihead.jmh.peer.TorchBlocks;
import io.multihead.nn.Embedding;
import io.multihead.nn.Gradients;
import io.multihead.nn.LayerNorm;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import io.multihead.train.AdamW;
import io.multihead.train.BertLayers;
import io.multihead.train.BertPass;
import io.multihead.train.EmbeddingLoss;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.TransformerEncoderLayerImpl;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A step of fine-tuning an encoder of MiniLM's sizes with random weights on 32 pairs of texts of 64 tokens: both passes, the loss of multiple
 * negatives, all gradients but those of the tables, and AdamW. PyTorch begins behind the tables, with all texts as one batch.
 */
@Warmup(iterations = 5, time = 2)
public class FinetuneBench extends ThreadedComparison {
    private static final int DIM = 384;
    private static final int INNER = 1536;
    private static final int HEADS = 12;
    private static final int LAYERS = 6;
    private static final int PAIRS = 32;
    private static final int TOKENS = 64;
    private static final int WORDS = 1000;
    private static final double EPSILON = 1e-5;
    private static final double SCALE = 20;
    private static final double RATE = 1e-6;

    @Param({"multihead", "pytorch"})
    public String impl;

    @Override
    public Work work() {
        return Work.training(LAYERS, 2.0 * PAIRS * TOKENS, TOKENS, DIM, INNER);
    }

    @Override
    void open() throws IOException {
        Path folder = temporary("finetune");
        write(folder);
        BertLayers encoder = BertLayers.load(Arena.ofAuto(), folder);
        List<String> left = texts(1);
        List<String> right = texts(2);
        load(impl, () -> switch (impl) {
            case "multihead" -> ours(encoder, left, right);
            case "pytorch" -> torch(encoder, left, right);
            default -> throw unknown(impl);
        });
    }

    /** Words of a text, which [CLS] and [SEP] make one of 64 tokens. */
    private static List<String> texts(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < PAIRS; i++) {
            texts.add(random.ints(TOKENS - 2, 0, WORDS)
                    .mapToObj(word -> "w" + word)
                    .collect(Collectors.joining(" ")));
        }
        return texts;
    }

    private Runnable ours(BertLayers encoder, List<String> left, List<String> right) {
        Map<String, Tensor> gradients = encoder.gradients(Arena.ofAuto(), name -> !name.startsWith("embeddings."));
        AdamW optimizer = AdamW.of(encoder.parameters(), AdamW.Options.DEFAULT);
        Tensor ofLeft = Tensor.of(new float[PAIRS * DIM], PAIRS, DIM);
        Tensor ofRight = Tensor.of(new float[PAIRS * DIM], PAIRS, DIM);
        return () -> {
            Gradients.clear(gradients);
            try (BertPass first = encoder.record(cpu, left, 0);
                    BertPass second = encoder.record(cpu, right, 1)) {
                EmbeddingLoss.of().multipleNegatives(SCALE, first.vectors(), second.vectors(), ofLeft, ofRight);
                first.backward(ofLeft, gradients);
                second.backward(ofRight, gradients);
            }
            optimizer.step(cpu, gradients, RATE);
            encoder.parametersChanged();
        };
    }

    private Runnable torch(BertLayers encoder, List<String> left, List<String> right) {
        Torch.threads(threads);
        List<Map<String, Tensor>> blocks = new ArrayList<>();
        for (int layer = 0; layer < LAYERS; layer++) {
            blocks.add(Gradients.under("encoder.layer." + layer + ".", encoder.parameters()));
        }
        List<TransformerEncoderLayerImpl> layers = TorchBlocks.of(DIM, HEADS, INNER, blocks);
        List<String> all = new ArrayList<>(left);
        all.addAll(right);
        org.bytedeco.pytorch.Tensor states = Torch.copy(states(encoder, all), 2 * PAIRS, TOKENS, DIM)
                .transpose(0, 1)
                .contiguous();
        requireVectors(TorchBlocks.forward(layers, states).mean(0), encoder.embed(cpu, all));
        TensorVector parameters = new TensorVector();
        for (TransformerEncoderLayerImpl layer : layers) {
            for (long i = 0; i < layer.parameters().size(); i++) {
                parameters.push_back(layer.parameters().get(i));
            }
        }
        org.bytedeco.pytorch.AdamW optimizer = new org.bytedeco.pytorch.AdamW(parameters, new AdamWOptions(RATE));
        Runnable made = () -> {
            try (PointerScope scope = new PointerScope()) {
                optimizer.zero_grad();
                org.bytedeco.pytorch.Tensor vectors =
                        TorchBlocks.forward(layers, states).mean(0);
                org.bytedeco.pytorch.Tensor units =
                        vectors.div(vectors.norm(new ScalarOptional(new Scalar(2.0)), new long[] {1}, true));
                org.bytedeco.pytorch.Tensor scores = units.narrow(0, 0, PAIRS)
                        .mm(units.narrow(0, PAIRS, PAIRS).t())
                        .mul(new Scalar(SCALE));
                scores.log_softmax(1).diagonal().mean().neg().backward();
                optimizer.step();
            }
        };
        made.run();
        return made;
    }

    private void requireVectors(org.bytedeco.pytorch.Tensor vectors, Tensor own) {
        FloatBuffer actual = Data.zeros(2 * PAIRS * DIM);
        Torch.read(vectors, actual);
        FloatBuffer expected = Data.zeros(2 * PAIRS * DIM).put(own.toArray()).flip();
        // six blocks of f32 arithmetic, each some tens of roundings
        Data.requireClose(impl, expected, actual, 2e-5);
    }

    /** Returns the sums of the rows of the tables, normalized, which the blocks read. */
    private FloatBuffer states(BertLayers encoder, List<String> texts) {
        int tokens = texts.size() * TOKENS;
        int[] ids = new int[tokens];
        int[] positions = new int[tokens];
        Arrays.setAll(positions, i -> i % TOKENS);
        int at = 0;
        for (String text : texts) {
            ids[at++] = 2;
            for (String word : text.split(" ")) {
                ids[at++] = 4 + Integer.parseInt(word.substring(1));
            }
            ids[at++] = 3;
        }
        float[] sum = new float[tokens * DIM];
        add(encoder, "embeddings.word_embeddings.weight", ids, sum);
        add(encoder, "embeddings.position_embeddings.weight", positions, sum);
        add(encoder, "embeddings.token_type_embeddings.weight", new int[tokens], sum);
        Map<String, Tensor> norm = Gradients.under("embeddings.LayerNorm.", encoder.parameters());
        Tensor normalized = Tensor.of(new float[sum.length], tokens, DIM);
        LayerNorm.of(Shape.of(DIM), EPSILON, norm.get("weight"), norm.get("bias"))
                .forward(cpu, Tensor.of(sum, tokens, DIM), normalized);
        return Data.zeros(sum.length).put(normalized.toArray()).flip();
    }

    private void add(BertLayers encoder, String table, int[] ids, float[] sum) {
        Tensor rows = Tensor.of(new float[sum.length], ids.length, DIM);
        Embedding.of(encoder.parameters().get(table)).forward(cpu, ids, rows);
        float[] values = rows.toArray();
        for (int i = 0; i < sum.length; i++) {
            sum[i] += values[i];
        }
    }

    private static void write(Path folder) throws IOException {
        Files.writeString(folder.resolve("config.json"), """
                {"model_type": "bert", "hidden_act": "gelu", "hidden_size": 384, "num_hidden_layers": 6,
                 "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 1004, "max_position_embeddings": 512,
                 "type_vocab_size": 2, "layer_norm_eps": 1e-5}
                """);
        List<String> words = new ArrayList<>(List.of("[PAD]", "[UNK]", "[CLS]", "[SEP]"));
        for (int word = 0; word < WORDS; word++) {
            words.add("w" + word);
        }
        Files.write(folder.resolve("vocab.txt"), words);
        Map<String, Tensor> weights = new LinkedHashMap<>();
        weights.put("embeddings.word_embeddings.weight", draw(1, words.size(), DIM));
        weights.put("embeddings.position_embeddings.weight", draw(2, 512, DIM));
        weights.put("embeddings.token_type_embeddings.weight", draw(3, 2, DIM));
        norm(weights, "embeddings.LayerNorm.");
        for (int layer = 0; layer < LAYERS; layer++) {
            String at = "encoder.layer." + layer + ".";
            for (String name : List.of("self.query", "self.key", "self.value", "output.dense")) {
                linear(weights, at + "attention." + name + ".", DIM, DIM);
            }
            norm(weights, at + "attention.output.LayerNorm.");
            linear(weights, at + "intermediate.dense.", INNER, DIM);
            linear(weights, at + "output.dense.", DIM, INNER);
            norm(weights, at + "output.LayerNorm.");
        }
        Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of());
    }

    private static void norm(Map<String, Tensor> weights, String at) {
        Tensor ones = Tensor.of(new float[DIM], DIM);
        ones.fill(1);
        weights.put(at + "weight", ones);
        weights.put(at + "bias", Tensor.of(new float[DIM], DIM));
    }

    private static void linear(Map<String, Tensor> weights, String at, int outputs, int inputs) {
        weights.put(at + "weight", draw(at.hashCode(), outputs, inputs));
        weights.put(at + "bias", Tensor.of(new float[outputs], outputs));
    }

    private static Tensor draw(long seed, int rows, int columns) {
        return Data.normal(seed, 0.05, rows, columns);
    }
}
