package io.multihead.internal.text.wordpiece;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.text.unicode.CharacterTable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Finds and reads the files of a tokenizer. */
public final class WordPieceFiles {
    private WordPieceFiles() {}

    /** Reads a folder's {@code vocab.txt} with the settings of other files. */
    public static WordPieceModel loadVocabulary(Path folder) throws IOException {
        Path text = folder.resolve("vocab.txt");
        List<String> tokens = Checks.in(text, () -> lines(text));
        return TokenizerSettings.read(folder).ofVocabulary(text, tokens);
    }

    /** Applies the settings of other files to a folder's {@code tokenizer.json}. */
    public static WordPieceModel load(Path folder, WordPieceModel json) throws IOException {
        return TokenizerSettings.read(folder).apply(folder.resolve("tokenizer.json"), json);
    }

    /** Returns the lines of a file, one token per line. Only a line feed ends a line, since tokens may be other line separators. */
    private static List<String> lines(Path file) throws IOException {
        String text;
        try {
            text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(FileMemory.bytes(file)))
                    .toString();
        } catch (CharacterCodingException malformed) {
            throw new IllegalArgumentException(
                    "not " + StandardCharsets.UTF_8 + "; expected one token per line", malformed);
        }
        List<String> tokens = new ArrayList<>();
        for (int at = 0; at < text.length(); ) {
            int end = text.indexOf('\n', at);
            end = end < 0 ? text.length() : end;
            String token = text.substring(at, end > at && text.charAt(end - 1) == '\r' ? end - 1 : end);
            tokens.add(token);
            requireToken(token, tokens.size());
            at = end + 1;
        }
        return tokens;
    }

    /**
     * Fails if versions of transformers read different tokens: version 4 ends lines at carriage returns, and version 5 removes white space
     * at their end.
     */
    private static void requireToken(String token, int line) {
        if (token.indexOf('\r') >= 0) {
            throw Checks.fail("line " + line, "a carriage return within it", "expected a token");
        }
        if (!token.isEmpty() && CharacterTable.isSpace(token.codePointBefore(token.length()))) {
            if (!token.codePoints().allMatch(CharacterTable::isSpace)) {
                throw Checks.fail(
                        "line " + line, "\"" + token + "\"", "expected a token without white space at its end");
            }
        }
    }
}
