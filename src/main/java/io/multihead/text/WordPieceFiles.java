package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Finds and reads the files of a tokenizer. */
final class WordPieceFiles {
    private WordPieceFiles() {}

    static WordPieceModel load(Path folder) throws IOException {
        Path json = folder.resolve("tokenizer.json");
        if (Files.exists(json)) {
            try {
                return TokenizerJson.parse(Files.readAllBytes(json));
            } catch (IllegalArgumentException wrong) {
                throw new IllegalArgumentException(json + ": " + wrong.getMessage(), wrong);
            }
        }
        Path text = folder.resolve("vocab.txt");
        TextNormalization normalization = normalization(folder.resolve("tokenizer_config.json"));
        try {
            return WordPieceModel.of(lines(text), normalization);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(text + ": " + wrong.getMessage(), wrong);
        }
    }

    /** One token per line; a line ends with a line feed alone, since tokens may be other separators of lines. */
    private static List<String> lines(Path file) throws IOException {
        String text;
        try {
            text = Files.readString(file);
        } catch (CharacterCodingException malformed) {
            throw new IllegalArgumentException(
                    "not " + StandardCharsets.UTF_8 + "; expected one token per line", malformed);
        }
        List<String> tokens = new ArrayList<>();
        for (int at = 0; at < text.length(); ) {
            int end = text.indexOf('\n', at);
            end = end < 0 ? text.length() : end;
            tokens.add(text.substring(at, end > at && text.charAt(end - 1) == '\r' ? end - 1 : end));
            at = end + 1;
        }
        return tokens;
    }

    /** Uncased unless the configuration says otherwise, as the reference's {@code BertTokenizer}. */
    private static TextNormalization normalization(Path file) throws IOException {
        if (!Files.exists(file)) {
            return TextNormalization.UNCASED;
        }
        try {
            JsonObject config =
                    new JsonObject("tokenizer_config", Json.object("tokenizer_config", Files.readAllBytes(file)));
            boolean lowercase = config.flag("do_lower_case", true);
            if (!config.flag("do_basic_tokenize", true)) {
                throw Checks.fail("do_basic_tokenize", "false", "expected true");
            }
            return new TextNormalization(
                    true,
                    config.flag("tokenize_chinese_chars", true),
                    config.flag("strip_accents", lowercase),
                    lowercase);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(file + ": " + wrong.getMessage(), wrong);
        }
    }
}
