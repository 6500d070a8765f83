package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.run.PairTruncation;
import io.multihead.support.Golden;
import io.multihead.support.Promises;
import io.multihead.tensor.Tensor;
import io.multihead.text.GoldenTexts;
import io.multihead.text.Models;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * MiniLM with a head of random weights: pairs equal the pairs of the tokenizers crate, and outputs equal the outputs of ONNX Runtime
 * ({@code src/it/golden}).
 */
class RerankerGoldenTest {
    private static final Golden GOLDEN = Golden.open("encoder/reranker");
    private static final List<String> TEXTS = GoldenTexts.sentences(Models.paragraph());

    private static Reranker load() throws IOException {
        try (InputStream model = Models.open(Models.MINILM);
                InputStream tokenizer = Models.open(Models.MINILM_TOKENIZER)) {
            InputStream head = new ByteArrayInputStream(GoldenHead.graph());
            return Reranker.ofOnnx(Compute.serial(), new SequenceInputStream(model, head), tokenizer)
                    .withActivation(ScoreActivation.IDENTITY);
        }
    }

    /**
     * Sums of 384 and 1536 products in each of 6 layers are rounded in another order, and outputs of the head are about 1. A pair with
     * another token, type or length changes the first digits of the output.
     */
    @Test
    void outputsAreThoseOfTheReference() throws IOException {
        Tensor expected = GOLDEN.tensor("outputs");
        double worst = 0;
        int pair = 0;
        try (Reranker reranker = load()) {
            for (int query : GoldenHead.QUERIES) {
                List<String> passages = passages(query);
                for (double actual : reranker.score(TEXTS.get(query), passages)) {
                    double exact = expected.get(pair++);
                    worst = Math.max(worst, Math.abs(actual - exact) / Math.max(1, Math.abs(exact)));
                }
            }
        }
        assertEquals(expected.dim(0), pair);
        Promises.RERANKING.record(worst);
        assertTrue(worst <= Promises.RERANKING.limit(), "differ by " + worst);
    }

    private static List<String> passages(int query) {
        return Arrays.stream(GoldenHead.passages(query)).mapToObj(TEXTS::get).toList();
    }

    @Test
    void lengthsAreThoseOfTheReference() throws IOException {
        Tensor expected = GOLDEN.tensor("lengths");
        int pair = 0;
        boolean isCut = false;
        try (Reranker reranker = load()) {
            for (int query : GoldenHead.QUERIES) {
                int first = reranker.tokenizer().count(TEXTS.get(query));
                for (String passage : passages(query)) {
                    int second = reranker.tokenizer().count(passage);
                    int most = GoldenHead.MOST_TOKENS - 3;
                    int kept = PairTruncation.keptOfFirst(first, second, most)
                            + PairTruncation.keptOfSecond(first, second, most);
                    assertEquals(expected.get(pair++), kept + 3);
                    isCut |= kept < first + second;
                }
            }
        }
        assertTrue(isCut, "no pair has too many tokens");
    }
}
