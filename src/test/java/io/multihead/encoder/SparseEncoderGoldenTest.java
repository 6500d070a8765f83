package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.OnnxWeights;
import io.multihead.format.Safetensors;
import io.multihead.support.Golden;
import io.multihead.tensor.Tensor;
import io.multihead.text.GoldenTexts;
import io.multihead.text.Models;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sparse vectors of MiniLM with a head of random weights equal the vectors of ONNX Runtime ({@code src/it/golden}). */
class SparseEncoderGoldenTest {
    /**
     * Sums of 384 and 1536 products in each of 6 layers, and two sums of 384 products in the head, are rounded in another order. Logits are
     * sums of products of about 1, and the bias subtracts 3. The largest measured difference is 4.6e-6. Another word, position or length
     * changes the first digits.
     */
    private static final double LIMIT = 2e-5;

    private static final Golden GOLDEN = Golden.open("encoder/sparse");
    private static final List<String> TEXTS = GoldenTexts.sentences(Models.paragraph());

    @TempDir
    Path folder;

    private void write() throws IOException {
        Files.writeString(folder.resolve("config.json"), """
                {"architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": 384,
                 "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 30522,
                 "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12}
                """);
        try (InputStream model = Models.open(Models.MINILM);
                InputStream tokenizer = Models.open(Models.MINILM_TOKENIZER)) {
            Files.copy(tokenizer, folder.resolve("tokenizer.json"));
            OnnxWeights encoder = OnnxWeights.read(model);
            Map<String, Tensor> weights = new LinkedHashMap<>();
            encoder.names().forEach(name -> weights.put("bert." + name, encoder.get(name)));
            int dim = GoldenMasked.DIM;
            GoldenMasked.head().forEach((name, values) -> {
                long[] dims = values.length == dim * dim ? new long[] {dim, dim} : new long[] {values.length};
                weights.put("cls.predictions." + name, Tensor.of(values, dims));
            });
            Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
        }
    }

    @Test
    void vectorsAreThoseOfTheReference() throws IOException {
        write();
        Tensor words = GOLDEN.tensor("words");
        Tensor weights = GOLDEN.tensor("weights");
        Tensor counts = GOLDEN.tensor("counts");
        int at = 0;
        double worst = 0;
        try (Compute cpu = Compute.threads(2);
                SparseEncoder encoder = SparseEncoder.load(cpu, folder)) {
            for (int i = 0; i < GoldenMasked.TEXTS.length; i++) {
                SparseVector actual = encoder.embed(TEXTS.get(GoldenMasked.TEXTS[i]));
                int count = (int) counts.get(i);
                int shared = 0;
                for (int k = 0; k < count; k++) {
                    float weight = actual.weight((int) words.get(at + k));
                    shared += weight > 0 ? 1 : 0;
                    worst = Math.max(worst, Math.abs(weight - weights.get(at + k)));
                }
                at += count;
                assertTrue(shared > 100, shared + " words");
                // a word whose logit is 0 within the limit may be in only one of the two vectors
                worst = Math.max(worst, largestOfOthers(actual, words, at - count, at));
            }
        }
        assertEquals(words.dim(0), at);
        assertTrue(worst <= LIMIT, "differ by " + worst);
    }

    private static double largestOfOthers(SparseVector actual, Tensor words, int from, int end) {
        Map<Integer, Float> others = new LinkedHashMap<>();
        for (int id : actual.ids()) {
            others.put(id, actual.weight(id));
        }
        for (int k = from; k < end; k++) {
            others.remove((int) words.get(k));
        }
        return others.values().stream().mapToDouble(Float::doubleValue).max().orElse(0);
    }
}
