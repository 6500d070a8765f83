package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.text.wordpiece.WordPieceFiles;
import io.multihead.internal.text.wordpiece.WordPieceJson;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A {@code tokenizer.json}, whose {@code model.type} determines the reader of its other parts. */
final class TokenizerJson {
    private final JsonObject file;

    TokenizerJson(byte[] utf8) {
        file = new JsonObject("tokenizer", Json.object("tokenizer", utf8));
    }

    boolean isWordPiece() {
        return "WordPiece".equals(file.object("model").find("type"));
    }

    /** Returns the error for another model. */
    IllegalArgumentException fail(String expected) {
        return file.object("model").fail("type", expected);
    }

    /** Returns the tokenizer of a language model. */
    Tokenizer tokenizer(@Nullable JsonObject config, Set<Integer> stopTokens) {
        return switch (file.object("model").text("type")) {
            case "BPE" -> MergesJson.parse(file, config, stopTokens);
            case "Unigram" -> UnigramJson.parse(file, config, stopTokens);
            default -> throw fail("BPE or Unigram, or WordPiece for an encoder");
        };
    }

    /** Returns the tokenizer of an encoder; for a WordPiece model, without other settings. */
    EncoderTokenizer encoder(@Nullable JsonObject config) {
        return isWordPiece() ? new WordPiece(WordPieceJson.parse(file)) : PieceEncoder.of(pieces(config), file, config);
    }

    /** Returns the tokenizer of WordPiece with the settings of other files of its folder. */
    EncoderTokenizer wordPiece(Path folder) throws IOException {
        Path json = folder.resolve("tokenizer.json");
        return new WordPiece(WordPieceFiles.load(folder, Checks.in(json, () -> WordPieceJson.parse(file))));
    }

    /** Returns the tokenizer of a table of embeddings, which reads only texts. */
    EncoderTokenizer withoutSpecialTokens(boolean leavesUnknownOut) {
        if (isWordPiece()) {
            return WordPiece.of(WordPieceJson.parseWithoutEnds(file), leavesUnknownOut);
        }
        PieceTokenizer pieces = pieces(null);
        // a Unigram model of HuggingFace's library has no name for its unknown token, which model2vec needs to find it
        boolean finds = leavesUnknownOut && !(pieces instanceof UnigramTokenizer);
        int leftOut = finds ? pieces.specialIds().unknown() : SpecialIds.NONE;
        return PieceEncoder.withoutEnds(pieces, file, leftOut);
    }

    private PieceTokenizer pieces(@Nullable JsonObject config) {
        return switch (isWordPiece() ? null : tokenizer(config, Set.of())) {
            case UnigramTokenizer unigram -> unigram;
            case BytePairTokenizer bytes -> bytes.requireAllBytes();
            case null, default -> throw fail("WordPiece, Unigram, or BPE over bytes, for an encoder");
        };
    }
}
