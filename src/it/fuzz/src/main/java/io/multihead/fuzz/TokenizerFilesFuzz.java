package io.multihead.fuzz;

import io.multihead.text.EncoderTokenizer;
import io.multihead.text.Tokenizers;
import io.multihead.text.WordPiece;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * The folder of a tokenizer in which one file has arbitrary bytes. The first byte of the input, from '0' on, selects
 * the file.
 */
public final class TokenizerFilesFuzz {
    private static final List<String> FILES = List.of("tokenizer.json", "vocab.txt", "tokenizer_config.json");
    private static final Path FOLDER = Scratch.folder("tokenizer");
    private static final List<String> TEXTS = List.of("", "ab [MASK] Abc#d\u00e9 !", "\ud83d\ude00\ud800 \u4e00x");

    private TokenizerFilesFuzz() {}

    public static void fuzzerTestOneInput(byte[] input) {
        if (input.length > 0) {
            Oracle.check(input.length, () -> check(input));
        }
    }

    private static void check(byte[] input) {
        String changed = FILES.get(Math.floorMod(input[0] - '0', FILES.size()));
        byte[] bytes = Arrays.copyOfRange(input, 1, input.length);
        delete(FOLDER.resolve("tokenizer.json"));
        Scratch.write(FOLDER.resolve("vocab.txt"), SmallModel.vocabularyTxt());
        // an empty file next to a tokenizer.json, since otherwise errors may name it as the file that contradicts the
        // tokenizer.json
        Scratch.write(
                FOLDER.resolve("tokenizer_config.json"),
                changed.equals("tokenizer.json") ? new byte[] {'{', '}'} : SmallModel.tokenizerConfig());
        Scratch.write(FOLDER.resolve(changed), bytes);
        Oracle.accepts(FOLDER.resolve(changed).toString(), () -> {
            EncoderTokenizer tokenizer = Tokenizers.loadEncoder(FOLDER);
            if (tokenizer instanceof WordPiece pieces) {
                TEXTS.forEach(text -> TextFuzz.check(pieces, text));
            }
        });
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
