package io.multihead.jmh.bench;

import io.multihead.jmh.data.Data;
import io.multihead.jmh.data.Texts;
import io.multihead.jmh.peer.Torch;
import io.multihead.jmh.peer.TorchBlocks;
import io.multihead.nn.Gradients;
import io.multihead.nn.LayerNorm;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.Tokenizers;
import io.multihead.train.AdamW;
import io.multihead.train.BertLayers;
import io.multihead.train.BertPass;
import io.multihead.train.EmbeddingLoss;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.TransformerEncoderLayerImpl;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A step of fine-tuning all-MiniLM-L6-v2, with norms as in PyTorch's blocks, on 32 pairs of texts of 64 tokens: both
 * passes, the loss of multiple negatives, all gradients except the gradients of the tables, and AdamW. PyTorch begins
 * after the tables, with all texts as one batch.
 */
@Warmup(iterations = 5, time = 2)
public class FinetuneBench extends MiniLmComparison {
    private static final int DIM = 384;
    private static final int INNER = 1536;
    private static final int HEADS = 12;
    private static final int LAYERS = 6;
    private static final int PAIRS = 32;
    private static final int TOKENS = 64;
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
        Path folder = folder(EPSILON, "", Map.of());
        BertLayers encoder = BertLayers.load(Arena.ofAuto(), folder);
        EncoderTokenizer tokenizer = Tokenizers.loadEncoder(folder);
        List<String> all = Texts.random(2 * PAIRS + "x" + TOKENS, TOKENS, 2);
        load(impl, () -> switch (impl) {
            case "multihead" -> ours(encoder, all.subList(0, PAIRS), all.subList(PAIRS, 2 * PAIRS));
            case "pytorch" -> torch(encoder, tokenizer, all);
            default -> throw unknown(impl);
        });
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

    private Runnable torch(BertLayers encoder, EncoderTokenizer tokenizer, List<String> texts) {
        Torch.threads(threads);
        List<Map<String, Tensor>> blocks = new ArrayList<>();
        for (int layer = 0; layer < LAYERS; layer++) {
            blocks.add(Gradients.under("encoder.layer." + layer + ".", encoder.parameters()));
        }
        List<TransformerEncoderLayerImpl> layers = TorchBlocks.of(DIM, HEADS, INNER, blocks);
        int[] ids = texts.stream()
                .flatMapToInt(text -> Arrays.stream(tokenizer.encodeWithSpecialTokens(text)))
                .toArray();
        org.bytedeco.pytorch.Tensor states = Torch.copy(states(encoder, ids), 2 * PAIRS, TOKENS, DIM)
                .transpose(0, 1)
                .contiguous();
        requireVectors(TorchBlocks.forward(layers, states).mean(0), encoder.embed(cpu, texts));
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
        // six blocks of f32 arithmetic, each with some tens of roundings
        Data.requireClose(impl, expected, actual, 2e-5);
    }

    /** Returns the normalized sums of the rows of the tables, which are the input of the blocks. */
    private FloatBuffer states(BertLayers encoder, int[] ids) {
        Map<String, Tensor> tables = Gradients.under("embeddings.", encoder.parameters());
        float[] words = tables.get("word_embeddings.weight").toArray();
        float[] positions = tables.get("position_embeddings.weight").toArray();
        float[] types = tables.get("token_type_embeddings.weight").toArray();
        float[] sum = new float[ids.length * DIM];
        for (int i = 0; i < sum.length; i++) {
            sum[i] = words[ids[i / DIM] * DIM + i % DIM] + positions[i % (TOKENS * DIM)] + types[i % DIM];
        }
        FloatBuffer states = Data.zeros(sum.length);
        LayerNorm.of(Shape.of(DIM), EPSILON, tables.get("LayerNorm.weight"), tables.get("LayerNorm.bias"))
                .forward(cpu, Tensor.of(sum, ids.length, DIM), Data.tensor(states, ids.length, DIM));
        return states;
    }
}
