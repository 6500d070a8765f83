package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.text.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Assigns the tokens of a text to its parts. A token belongs to the part that contains its last byte, because a token may begin with the
 * space before its word.
 */
final class ChunkBorders {
    private final Tokenizer tokenizer;
    private final String prompt;
    private final List<String> chunks;
    private final byte[] text;
    /** The tokens of prompt and text. */
    final int[] ids;

    /** Computes the tokens of a text that begins with a prompt. */
    ChunkBorders(Tokenizer tokenizer, String prompt, List<String> chunks) {
        this.tokenizer = tokenizer;
        this.prompt = prompt;
        this.chunks = chunks;
        requireWholeCharacters();
        String whole = prompt + String.join("", chunks);
        text = whole.getBytes(StandardCharsets.UTF_8);
        ids = tokenizer.encode(whole);
    }

    /** Fails if a part ends between the two chars of a surrogate pair. */
    private void requireWholeCharacters() {
        for (int i = 1; i < chunks.size(); i++) {
            String before = chunks.get(i - 1);
            String behind = chunks.get(i);
            if (!before.isEmpty()
                    && !behind.isEmpty()
                    && Character.isSurrogatePair(before.charAt(before.length() - 1), behind.charAt(0))) {
                throw Checks.fail("chunks[" + (i - 1) + "]", "the first half of a character", "expected whole ones");
            }
        }
    }

    /** Returns the index of the first token of each part, and the end of the last part. */
    int[] find() {
        int[] ends = ends();
        int[] borders = new int[chunks.size() + 1];
        int end = bytes(prompt);
        int token = 0;
        for (int i = 0; i <= chunks.size(); i++) {
            // a space that the tokenizer puts before the text belongs to the first part of the text
            while (token < ids.length && ends[token] <= end && end > 0) {
                token++;
            }
            borders[i] = token;
            if (i > 0 && token == borders[i - 1]) {
                throw Checks.fail("chunks[" + (i - 1) + "]", "no token", "expected at least one token for each chunk");
            }
            end += i < chunks.size() ? bytes(chunks.get(i)) : 0;
        }
        return borders;
    }

    private static int bytes(String part) {
        return part.getBytes(StandardCharsets.UTF_8).length;
    }

    /**
     * Returns the end byte of each token in the text. Fails if the bytes of the tokens are not the bytes of the text, except for one space
     * that may precede them.
     */
    private int[] ends() {
        int total = 0;
        for (int id : ids) {
            total += tokenizer.pieceBytes(id).length;
        }
        int at = text.length - total;
        boolean isText = at == 0 || at == -1;
        int[] ends = new int[ids.length];
        for (int i = 0; i < ids.length; i++) {
            for (byte one : tokenizer.pieceBytes(ids[i])) {
                isText = isText && (at < 0 ? one == ' ' : one == text[at]);
                at++;
            }
            ends[i] = at;
        }
        if (!isText) {
            throw Checks.fail(
                    "chunks",
                    "a text that the tokenizer changes",
                    "expected a text that the tokenizer does not change, such as a text in Unicode's form NFC");
        }
        return ends;
    }
}
