package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Loading a GGUF file of an encoder with random changes of bytes returns an encoder, or the error names the file. */
class EncoderGgufFaultsTest {
    private static final int RUNS = 120;
    private static final List<String> TEXTS = List.of("", "abc de", "[MASK] \u00e9 \ud83d\ude00");

    /** The limit of memory for the small model, its tokenizer and its results. Wrong sizes in a file must not exceed it. */
    private static final long MOST_BYTES = 64 << 20;

    @TempDir
    Path folder;

    private static TinyGguf model(String name) {
        return switch (name) {
            case "bert" -> TinyGguf.bert(TinyModel.weights(1));
            case "reranker" -> TinyGguf.bert(new TinyReranker(1, 1).weights()).set("pooling_type", 4);
            case "xlm-r" -> TinyGguf.xlmR(TinyXlmR.weights(1, TinyXlmR.FIRST));
            case "nomic-bert" -> TinyGguf.nomic(new TinyNomicBert(1, false).weights());
            case "modern-bert" -> TinyGguf.modern(TinyModernBert.weights(1, false));
            default -> {
                Map<String, Tensor> all = new LinkedHashMap<>(TinyModernBert.weights(1, false));
                all.putAll(TinyModernBert.head(1, false, 1));
                yield TinyGguf.modern(all).set("pooling_type", 4);
            }
        };
    }

    @ParameterizedTest
    @CsvSource({"bert", "reranker", "xlm-r", "nomic-bert", "modern-bert", "modern-reranker"})
    void mutatedFilesAreReadOrNamed(String name) throws IOException {
        Path file = folder.resolve("model.gguf");
        model(name).write(file);
        use(file, name.endsWith("reranker"));
        byte[] right = Files.readAllBytes(file);
        int header = new String(right, StandardCharsets.ISO_8859_1).lastIndexOf(".weight") + 64;
        SplittableRandom random = new SplittableRandom(1);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        int refused = 0;
        for (int run = 0; run < RUNS; run++) {
            byte[] wrong = random.nextInt(20) == 0 ? Arrays.copyOf(right, random.nextInt(right.length)) : right.clone();
            for (int changes = random.nextInt(3); changes >= 0; changes--) {
                int end = Math.min(wrong.length, header);
                if (end > 4) {
                    int at = 4 + random.nextInt(end - 4);
                    wrong[at] =
                            (byte) (random.nextBoolean() ? wrong[at] ^ 1 << random.nextInt(8) : random.nextInt(256));
                }
            }
            Files.write(file, wrong);
            long before = threads.getCurrentThreadAllocatedBytes();
            try {
                use(file, name.endsWith("reranker"));
            } catch (IllegalArgumentException named) {
                refused++;
                String message = String.valueOf(named.getMessage());
                assertTrue(
                        message.startsWith(file + ": ") || message.startsWith(folder + ": ") || isOfText(message),
                        run + ": " + message);
            } catch (IOException noModel) {
                assertTrue(wrong.length < 4, "only a file without the magic number is not a model");
            }
            long bytes = threads.getCurrentThreadAllocatedBytes() - before;
            assertTrue(bytes < MOST_BYTES, run + ": " + bytes + " bytes");
        }
        assertTrue(refused > RUNS / 4, refused + " files are refused");
    }

    /** Returns whether a message is about a text. A changed vocabulary may have tokens without rows, and changed weights may be NaN. */
    private static boolean isOfText(String message) {
        return message.startsWith("vectors: ") || message.startsWith("texts") || message.startsWith("scores: ");
    }

    private static void use(Path file, boolean reranks) throws IOException {
        if (reranks) {
            try (Reranker reranker = Reranker.load(Compute.serial(), file)) {
                reranker.score("abc", TEXTS);
            }
        } else {
            try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), file)) {
                encoder.embed(TEXTS);
            }
        }
    }
}
