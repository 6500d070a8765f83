package io.multihead.it.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

/**
 * Properties of generated texts in every kind of cluster. Each row has the text that the driver generates from its
 * prompt alone.
 */
abstract class GenerationContract extends AttentionContract {
    private static final int PROMPTS = 60;
    private static final Generation GREEDY = Generation.DEFAULT.withTokens(12, 100);
    private static final Generation DRAWN = GREEDY.withTemperature(1.5, 5);

    private static Path llama() {
        Path file = temporary.resolve("llama.gguf");
        try {
            return Files.exists(file) ? file : TinyLlama.write(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns prompts, some of which are equal. The first prompt is null, and the second has no token. */
    private List<String> promptTexts() {
        List<String> prompts = new ArrayList<>(texts.subList(0, PROMPTS));
        prompts.set(0, null);
        prompts.set(1, "");
        prompts.set(2, "a longer prompt, of a line\nand another one");
        return prompts;
    }

    Dataset<Row> prompts() {
        return rows(promptTexts());
    }

    static Dataset<Row> generated(Dataset<Row> rows, Generation generation) {
        return SparkGeneration.withTexts(rows, "text", "generated", llama().toString(), generation);
    }

    /** Checks that each prompt occurs once, with the text that it has alone. */
    void assertTexts(Generation generation, Dataset<Row> rows) {
        List<String> expected = alone(generation);
        Set<Integer> seen = new HashSet<>();
        for (Row row : rows.collectAsList()) {
            int id = row.<Integer>getAs("id");
            assertTrue(seen.add(id), () -> "row " + id + " twice");
            assertEquals(expected.get(id), row.getAs("generated"), () -> "row " + id);
        }
        assertEquals(PROMPTS, seen.size());
    }

    /** Returns the texts that the driver generates, one prompt at a time, in sessions of another length. */
    private List<String> alone(Generation generation) {
        List<String> generated = new ArrayList<>();
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, llama());
                Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            for (String prompt : promptTexts()) {
                if (prompt == null || prompt.isEmpty()) {
                    generated.add(null);
                    continue;
                }
                try (Session session = sessions.open().append(prompt)) {
                    generated.add(session.generate(generation.options()).text());
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return generated;
    }

    @Test
    void textsAreThoseOfTheDriverForAnyPartitioning() {
        prompts().repartition(3).write().parquet(path("prompts"));
        for (int partitions : new int[] {1, 4, 9}) {
            for (Generation generation : List.of(GREEDY, DRAWN)) {
                String out = path("generated-" + partitions + "-" + generation.temperature());
                generated(spark.read().parquet(path("prompts")).repartition(partitions), generation)
                        .write()
                        .parquet(out);
                assertTexts(generation, spark.read().parquet(out));
            }
        }
        List<String> drawn = alone(DRAWN);
        assertTrue(new HashSet<>(drawn).size() > PROMPTS / 2, drawn.toString());
    }

    @Test
    void textsStandBesideEmbeddingsAndRowsKeepTheirOrder() {
        List<Row> rows = generated(embedded(prompts().coalesce(1)), GREEDY).collectAsList();
        assertNull(rows.get(0).getAs("generated"));
        assertNull(rows.get(1).getAs("generated"));
        List<String> expected = alone(GREEDY);
        for (int i = 0; i < rows.size(); i++) {
            assertEquals(i, rows.get(i).getInt(0));
            assertEquals(expected.get(i), rows.get(i).getAs("generated"));
        }
        assertEquals(
                Arrays.asList("id", "text", "embedding", "generated"),
                List.of(rows.get(0).schema().fieldNames()));
    }

    @Test
    void aModelThatIsNotThereIsNamed() {
        String error = failure(SparkGeneration.withTexts(prompts(), "text", "generated", "/none.gguf", GREEDY));
        assertTrue(error.contains("model: /none.gguf on "), error);
        assertTrue(error.contains("/none.gguf: nothing there; expected a GGUF file"), error);
        assertTrue(error.contains("; get one by: hf download OWNER/NAME none.gguf --local-dir /"), error);
    }

    @Test
    void aPromptThatIsTooLongIsNamed() {
        String error = failure(generated(prompts(), GREEDY.withTokens(5, 20)));
        assertTrue(error.contains("expected a context of at most 20"), error);
    }

    @Test
    void wrongColumnsOfTextsAreNamed() {
        assertEquals(
                "generated: id; expected none of the columns [id, text]",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> SparkGeneration.withTexts(prompts(), "text", "id", "/none", GREEDY))
                        .getMessage());
    }
}
