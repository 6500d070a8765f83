package io.multihead.langchain4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.langchain4j.data.segment.TextSegment;
import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.encoder.TinyModel;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The adapter with langchain4j's core before 1.18. A class loader hides requests and responses, and loads the interface
 * of that version. {@code src/it/langchain4j} runs the adapter with the older jars.
 */
class OlderCoreTest {
    private static final String INTERFACE = "dev.langchain4j.model.embedding.EmbeddingModel";

    /** The interface of version 1.0. Its other methods call this method. */
    private static final String OLDER = """
            package dev.langchain4j.model.embedding;

            import dev.langchain4j.data.embedding.Embedding;
            import dev.langchain4j.data.segment.TextSegment;
            import dev.langchain4j.model.output.Response;
            import java.util.List;

            public interface EmbeddingModel {
                Response<List<Embedding>> embedAll(List<TextSegment> segments);

                default Response<Embedding> embed(String text) {
                    Response<List<Embedding>> all = embedAll(List.of(TextSegment.from(text)));
                    return Response.from(all.content().get(0), all.tokenUsage());
                }
            }
            """;

    @TempDir
    Path folder;

    /** Loads the adapter and its tests again, and langchain4j's classes except newer ones. */
    private static final class OlderCore extends ClassLoader {
        private final Path classes;
        private final Set<String> missing;

        OlderCore(Path classes, String... missing) {
            super(OlderCoreTest.class.getClassLoader());
            this.classes = classes;
            this.missing = Set.of(missing);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (missing.contains(name)
                    || name.startsWith("dev.langchain4j.model.embedding.request.")
                    || name.startsWith("dev.langchain4j.model.embedding.response.")) {
                throw new ClassNotFoundException(name);
            }
            boolean again = name.equals(INTERFACE) || name.startsWith("io.multihead.langchain4j.");
            if (!again || findLoadedClass(name) != null) {
                return super.loadClass(name, resolve);
            }
            try {
                String file = name.replace('.', '/') + ".class";
                byte[] code;
                if (name.equals(INTERFACE)) {
                    code = Files.readAllBytes(classes.resolve(file));
                } else {
                    try (InputStream in = getParent().getResourceAsStream(file)) {
                        code = in.readAllBytes();
                    }
                }
                return defineClass(name, code, 0, code.length);
            } catch (IOException unreadable) {
                throw new ClassNotFoundException(name, unreadable);
            }
        }
    }

    /** A user of the adapter. It returns the vector of a segment, the vector of a text, and the number of tokens. */
    public static final class User implements Function<Path, float[][]> {
        @Override
        public float[][] apply(Path model) {
            try (MultiheadEmbeddingModel embeddings =
                    MultiheadEmbeddingModel.builder().directory(model).build()) {
                var response = embeddings.embedAll(List.of(TextSegment.from("abc")));
                return new float[][] {
                    response.content().get(0).vector(),
                    embeddings.embed("de f").content().vector(),
                    {response.tokenUsage().inputTokenCount()}
                };
            }
        }
    }

    private float[][] use(String... missing) throws Exception {
        Path source = Files.writeString(
                Files.createDirectories(folder.resolve("source")).resolve("EmbeddingModel.java"), OLDER);
        String core = Path.of(TextSegment.class
                        .getProtectionDomain()
                        .getCodeSource()
                        .getLocation()
                        .toURI())
                .toString();
        int failed = ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-proc:none", "-cp", core, "-d", folder.toString(), source.toString());
        assertEquals(0, failed);
        Class<?> user = new OlderCore(folder, missing).loadClass(User.class.getName());
        @SuppressWarnings("unchecked") // the class implements this type
        Function<Path, float[][]> function =
                (Function<Path, float[][]>) user.getConstructor().newInstance();
        return function.apply(TinyModel.write(folder.resolve("model")));
    }

    @Test
    void segmentsAreEmbeddedWithoutRequests() throws Exception {
        float[][] vectors = use();
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder.resolve("model"))) {
            assertArrayEquals(encoder.embed("abc"), vectors[0]);
            assertArrayEquals(encoder.embed("de f"), vectors[1]);
            assertEquals(encoder.tokenizer().count("abc"), vectors[2][0]);
        }
    }

    @Test
    void aCoreThatIsTooOldIsNamedBeforeTheModelIsRead() {
        IllegalStateException wrong =
                assertThrows(IllegalStateException.class, () -> use("dev.langchain4j.model.TokenCountEstimator"));
        assertTrue(wrong.getMessage().endsWith("; expected version 1.0 or later"), wrong.getMessage());
    }
}
