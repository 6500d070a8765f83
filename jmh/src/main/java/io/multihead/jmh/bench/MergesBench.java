package io.multihead.jmh.bench;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import io.multihead.text.Tokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.openjdk.jmh.annotations.Param;

/**
 * The ids of the tokenizer of a language model or of XLM-R for the lines of {@code docs/architecture.md}, on one core.
 * {@code .ci/tokenizers} downloads or creates the files. Run the benchmark in the repository's root.
 */
public class MergesBench extends Comparison {
    private static final Path MODELS = Path.of("src", "it", "tokenizers", "target", "models");

    /** {@code crate} is HuggingFace's tokenizer in Rust over JNI, which also returns masks, type ids and words. */
    @Param({"multihead", "crate"})
    public String impl;

    @Param({"llama3", "qwen3", "gemma3", "unigram-words"})
    public String model;

    private long[] last = {};

    @Override
    void open() throws IOException {
        Path folder = MODELS.resolve(model);
        Tokenizer tokenizer = Tokenizers.load(folder);
        List<String> lines = Files.readAllLines(Path.of("docs", "architecture.md"));
        load(impl, () -> make(tokenizer, folder, lines));
        long[] expected = ids(tokenizer, lines.getLast());
        if (!Arrays.equals(expected, last)) {
            throw new IllegalStateException(impl + ": other ids than ours");
        }
        long tokens = lines.stream().mapToLong(tokenizer::count).sum();
        System.out.println(tokens + " tokens of " + model + " in a call");
    }

    private Runnable make(Tokenizer tokenizer, Path folder, List<String> lines) throws Exception {
        return switch (impl) {
            case "multihead" -> () -> lines.forEach(line -> last = ids(tokenizer, line));
            case "crate" -> {
                HuggingFaceTokenizer crate = HuggingFaceTokenizer.builder()
                        .optTokenizerPath(folder.resolve("tokenizer.json"))
                        .optPadding(false)
                        .optTruncation(false)
                        .build();
                yield () -> lines.forEach(
                        line -> last = crate.encode(line, false, false).getIds());
            }
            default -> throw unknown(impl);
        };
    }

    private static long[] ids(Tokenizer tokenizer, String line) {
        return Arrays.stream(tokenizer.encode(line)).asLongStream().toArray();
    }
}
