package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.ProtoReader;
import io.multihead.internal.text.unigram.CharacterMap;
import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * Reads SentencePiece's {@code tokenizer.model}, a protocol buffer, if its model is Unigram, or BPE whose text is not normalized. Any
 * other content is an error that names it.
 */
final class SentencePieceModel {
    private static final int PIECE = 1;
    private static final int TRAINER = 2;
    private static final int NORMALIZER = 3;
    private static final int UNIGRAM = 1;
    private static final int BPE = 2;

    private final ProtoReader in;
    private final List<String> tokens = new ArrayList<>();
    private final List<TokenType> types = new ArrayList<>();
    private float[] scores = new float[64];
    /** The ids of the unknown token, the first, the last and the padding. */
    private final long[] ids = {0, 1, 2, SpecialIds.NONE};

    private long modelType = UNIGRAM;
    private boolean prefixed = true;
    private boolean collapses = true;
    /** A map of characters, or none. */
    private byte[] map = {};

    private boolean byteFallback;

    private SentencePieceModel(byte[] file) {
        in = new ProtoReader("tokenizer.model", new ByteArrayInputStream(file));
    }

    static Tokenizer parse(byte[] file, AddedSpecialTokens added, Set<Integer> moreStopTokens) {
        return read(file).tokenizer(added, moreStopTokens);
    }

    private static SentencePieceModel read(byte[] file) {
        SentencePieceModel model = new SentencePieceModel(file);
        try {
            model.read();
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
        return model;
    }

    /** Reads the {@code sentencepiece.bpe.model} of XLM-R, whose model is Unigram despite its name, with the ids of fairseq. */
    static UnigramTokenizer parseFairseq(byte[] file) {
        SentencePieceModel model = read(file);
        require(model.modelType == UNIGRAM, "model_type", "UNIGRAM (1)");
        return model.unigram().fairseq();
    }

    private void read() throws IOException {
        for (int field = in.field(); field != 0; field = in.field()) {
            switch (field) {
                case PIECE -> readPiece();
                case TRAINER -> readTrainer();
                case NORMALIZER -> readNormalizer();
                default -> in.skip();
            }
        }
    }

    private void readPiece() throws IOException {
        String text = "";
        float score = 0;
        TokenType type = TokenType.NORMAL;
        long outer = in.enter();
        for (int field = in.field(); field != 0; field = in.field()) {
            switch (field) {
                case 1 -> text = in.text();
                case 2 -> score = in.real();
                case 3 -> type = TokenType.of((int) Checks.index(in.integer(), TokenType.values().length + 1L, "type"));
                default -> in.skip();
            }
        }
        in.leave(outer);
        if (type == TokenType.UNUSED) {
            throw Checks.fail("tokenizer.model", "unused piece \"" + text + "\"", "expected none");
        }
        if (tokens.size() == scores.length) {
            scores = Arrays.copyOf(scores, 2 * scores.length);
        }
        scores[tokens.size()] = score;
        tokens.add(text);
        types.add(type);
    }

    private void readTrainer() throws IOException {
        long outer = in.enter();
        for (int field = in.field(); field != 0; field = in.field()) {
            switch (field) {
                case 3 -> modelType = in.integer();
                case 24 -> require(in.integer() == 0, "treat_whitespace_as_suffix", "false");
                case 35 -> byteFallback = in.integer() != 0;
                case 40, 41, 42, 43 -> ids[field - 40] = in.integer();
                default -> in.skip();
            }
        }
        in.leave(outer);
    }

    private void readNormalizer() throws IOException {
        long outer = in.enter();
        for (int field = in.field(); field != 0; field = in.field()) {
            switch (field) {
                case 2 -> map = in.bytes();
                case 3 -> prefixed = in.integer() != 0;
                case 4 -> collapses = in.integer() != 0;
                case 5 -> require(in.integer() != 0, "escape_whitespaces", "true");
                default -> in.skip();
            }
        }
        in.leave(outer);
    }

    private static void require(boolean met, String what, String expected) {
        if (!met) {
            throw Checks.fail("tokenizer.model." + what, "another value", "expected " + expected);
        }
    }

    private SentencePieceUnigram unigram() {
        CharacterMap characters = CharacterMap.of(map, "tokenizer.model.precompiled_charsmap");
        float[] all = Arrays.copyOf(scores, tokens.size());
        return new SentencePieceUnigram(tokens, types, all, characters, prefixed, collapses, byteFallback);
    }

    private Tokenizer tokenizer(AddedSpecialTokens added, Set<Integer> moreStopTokens) {
        if (modelType == UNIGRAM) {
            return unigram().tokenizer(special(Vocabulary.of(tokens, types), added, moreStopTokens));
        }
        require(modelType == BPE, "model_type", "UNIGRAM (1) or BPE (2)");
        require(map.length == 0, "precompiled_charsmap", "none with BPE");
        require(!collapses, "remove_extra_whitespaces", "false with BPE");
        // a piece that is found before others is searched in the text, in which spaces are not replaced yet
        for (int id = 0; id < tokens.size(); id++) {
            if (types.get(id) == TokenType.USER_DEFINED) {
                tokens.set(id, tokens.get(id).replace('\u2581', ' '));
            }
        }
        for (int id = 0; prefixed && id < tokens.size(); id++) {
            if (types.get(id) == TokenType.USER_DEFINED && tokens.get(id).indexOf(' ') >= 0) {
                throw Checks.fail(
                        "tokenizer.model", "user-defined \"" + tokens.get(id) + "\"", "expected none with a space");
            }
        }
        Vocabulary vocabulary = Vocabulary.of(tokens, types).withScores(Arrays.copyOf(scores, tokens.size()));
        return SentencePieceTokenizer.of(
                vocabulary,
                special(vocabulary, added, moreStopTokens),
                prefixed ? SpacePrefix.FIRST : SpacePrefix.NONE);
    }

    private SpecialIds special(Vocabulary vocabulary, AddedSpecialTokens added, Set<Integer> moreStopTokens) {
        int end = id(2, "eos_id");
        Set<Integer> stopTokens = StopTokens.of(vocabulary);
        if (end != SpecialIds.NONE) {
            stopTokens.add(end);
        }
        SpecialIds special = new SpecialIds(
                id(1, "bos_id"), end, id(0, "unk_id"), id(3, "pad_id"), stopTokens, AddedSpecialTokens.NEITHER);
        return special.withAdded(added).withStopTokens(moreStopTokens);
    }

    /** Returns an id; a missing id is -1, which is written as 2^64 - 1. */
    private int id(int index, String name) {
        return ids[index] < 0
                ? SpecialIds.NONE
                : (int) Checks.index(ids[index], Math.max(1, tokens.size()), "tokenizer.model." + name);
    }
}
