package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.text.unicode.BertSteps;
import io.multihead.internal.text.unigram.CharacterMap;
import io.multihead.internal.text.unigram.ClusterNormalizer;
import io.multihead.internal.text.unigram.CodePointNormalizer;
import io.multihead.internal.text.unigram.StepsJson;
import io.multihead.internal.text.unigram.UnigramNormalizer;
import io.multihead.internal.text.unigram.UnigramPieces;
import io.multihead.internal.text.wordpiece.WordPieceJson;
import io.multihead.text.UnigramTokenizer.Division;
import io.multihead.text.UnigramTokenizer.Prefix;
import io.multihead.text.UnigramTokenizer.Rules;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Reads a {@code tokenizer.json} whose model is Unigram, as in XLM-R and multilingual E5: a precompiled map of characters, Metaspace, and a
 * template. Any other part of a file is an error that names the part. Truncation, padding and the decoder are not read.
 */
final class UnigramJson {
    private static final String MARK = "\u2581";

    private static final double[] POWERS = IntStream.range(0, 40)
            .mapToDouble(power -> Double.parseDouble("1e" + power))
            .toArray();

    private final JsonObject file;
    private final JsonObject model;
    private final boolean byteFallback;
    private final int unknown;
    private final List<String> texts = new ArrayList<>();
    private final List<TokenType> types = new ArrayList<>();
    private final double[] scores;
    private final List<JsonAddedTokens> added;

    private UnigramJson(JsonObject file) {
        this.file = file;
        model = file.object("model");
        model.requireType("Unigram");
        byteFallback = model.flag("byte_fallback", false);
        List<?> vocabulary = model.array("vocab");
        unknown = model.integer("unk_id", 0, vocabulary.size() - 1);
        scores = new double[vocabulary.size()];
        for (int id = 0; id < scores.length; id++) {
            readPiece(id, vocabulary.get(id));
        }
        int most = scores.length
                + (file.has("added_tokens") ? file.array("added_tokens").size() : 0);
        added = JsonAddedTokens.read(file, most);
        for (JsonAddedTokens token : added) {
            addToken(token);
        }
    }

    /** Reads a tokenizer; {@code config} is its {@code tokenizer_config.json}. */
    static UnigramTokenizer parse(JsonObject file, @Nullable JsonObject config, Set<Integer> stopTokens) {
        return new UnigramJson(file).tokenizer(config, stopTokens);
    }

    private void readPiece(int id, @Nullable Object element) {
        if (!(element instanceof List<?> pair
                && pair.size() == 2
                && pair.get(0) instanceof String piece
                && pair.get(1) instanceof Number score
                && Double.isFinite(score.doubleValue()))) {
            throw Checks.fail("tokenizer.model.vocab", String.valueOf(element), "expected a piece and its score");
        }
        texts.add(piece);
        boolean isByte = byteFallback && piece.matches("<0x[0-9A-F]{2}>");
        types.add(id == unknown ? TokenType.UNKNOWN : isByte ? TokenType.BYTE : TokenType.NORMAL);
        scores[id] = crateScore(score.doubleValue());
    }

    /**
     * Returns the number that the crate reads for the shortest decimal of a score: the digits as a double, divided by a power of ten. The
     * two roundings may differ from the score by an ulp. Pieces in another order, such as {@code dd ddd} and {@code ddd dd}, have sums that
     * differ only by such errors, and the largest sum is chosen.
     */
    private static double crateScore(double score) {
        BigDecimal decimal = new BigDecimal(Double.toString(score));
        double digits = decimal.unscaledValue().longValueExact();
        int scale = decimal.scale();
        double power =
                Math.abs(scale) < POWERS.length ? POWERS[Math.abs(scale)] : Double.parseDouble("1e" + Math.abs(scale));
        return scale < 0 ? digits * power : digits / power;
    }

    /** Adds a token, which is an existing piece or gets the next id, in the numbering of the crate. */
    private void addToken(JsonAddedTokens each) {
        int id = each.token().id();
        String text = each.token().text();
        int expected = id < texts.size() ? id : texts.size();
        if (id != expected || id < texts.size() && !texts.get(id).equals(text)) {
            throw each.source().fail("id", "the id of the piece \"" + text + "\", or else " + texts.size());
        }
        TokenType type = each.special() ? TokenType.CONTROL : TokenType.USER_DEFINED;
        if (id == texts.size()) {
            texts.add(text);
            types.add(type);
        } else if (types.get(id) != TokenType.UNKNOWN) {
            types.set(id, type);
        }
    }

    private UnigramTokenizer tokenizer(@Nullable JsonObject config, Set<Integer> stopTokens) {
        Vocabulary vocabulary = Vocabulary.of(texts, types).withAddedFrom(scores.length);
        SpecialIds special = JsonSpecialIds.read(file, config, vocabulary, unknown, stopTokens);
        double lowest = 0;
        for (int id = 0; id < scores.length; id++) {
            lowest = id == 0 ? scores[0] : Math.min(lowest, scores[id]);
        }
        UnigramNormalizer normalizer = normalizer();
        Rules rules = new Rules(
                normalizer,
                new NormalizedTokens(tokens(each -> each.normalized() && isPlain(each)), normalizer),
                new NormalizedTokens(tokens(JsonAddedTokens::normalized), normalizer),
                division(),
                prefix(),
                byteFallback);
        // the crate's model does not know tokens that were added to it
        UnigramPieces.Model own = new UnigramPieces.Model(
                texts.subList(0, scores.length),
                TokenType.reserved(types.subList(0, scores.length)),
                scores,
                lowest,
                false);
        return new UnigramTokenizer(
                new UnigramPieces(own, unknown, true),
                vocabulary,
                rules,
                special,
                new AddedTokens(tokens(each -> !each.normalized() && isPlain(each))),
                new AddedTokens(tokens(each -> !each.normalized())));
    }

    private List<AddedTokens.Token> tokens(Predicate<JsonAddedTokens> which) {
        return added.stream().filter(which).map(JsonAddedTokens::token).toList();
    }

    private boolean isPlain(JsonAddedTokens each) {
        return types.get(each.token().id()) == TokenType.USER_DEFINED
                && !AddedTokens.isMark(each.token().text());
    }

    private UnigramNormalizer normalizer() {
        CharacterMap map = CharacterMap.EMPTY;
        BertSteps bert = null;
        List<JsonObject> parts = file.parts("normalizer", "normalizers");
        StepsJson steps = new StepsJson();
        for (JsonObject part : parts) {
            String type = part.text("type");
            boolean first = type.equals("Precompiled") || type.equals("BertNormalizer");
            if (first && part != parts.getFirst()) {
                throw part.fail("type", type + " first");
            }
            switch (type) {
                case "Precompiled" -> map = map(part);
                case "BertNormalizer" -> {
                    part.require("clean_text", true);
                    bert = WordPieceJson.normalization(part);
                }
                default -> steps.add(part);
            }
        }
        return bert == null ? new ClusterNormalizer(map, steps.all()) : new CodePointNormalizer(bert, steps.all());
    }

    private static CharacterMap map(JsonObject part) {
        String name = part.name() + ".precompiled_charsmap";
        byte[] bytes;
        try {
            bytes = Base64.getDecoder().decode(part.text("precompiled_charsmap"));
        } catch (IllegalArgumentException wrong) {
            throw Checks.fail(name, String.valueOf(wrong.getMessage()), "expected base 64");
        }
        return CharacterMap.of(bytes, name);
    }

    private Division division() {
        List<JsonObject> parts = file.parts("pre_tokenizer", "pretokenizers");
        if (parts.isEmpty()) {
            throw file.fail("pre_tokenizer", "Metaspace, optionally after WhitespaceSplit");
        }
        JsonObject first = parts.getFirst();
        boolean words = first.text("type").equals("WhitespaceSplit");
        if (parts.size() != (words ? 2 : 1)) {
            throw Checks.fail(
                    "tokenizer.pre_tokenizer",
                    parts.size() + " parts",
                    "expected Metaspace, optionally after WhitespaceSplit");
        }
        JsonObject metaspace = parts.getLast();
        metaspace.requireType("Metaspace");
        metaspace.require("replacement", MARK);
        boolean divides = metaspace.flag("split", true);
        if (words && !divides) {
            throw metaspace.fail("split", "true after WhitespaceSplit");
        }
        return words ? Division.WORDS : divides ? Division.MARKS : Division.NOWHERE;
    }

    private Prefix prefix() {
        JsonObject metaspace = file.parts("pre_tokenizer", "pretokenizers").getLast();
        boolean added = metaspace.flag("add_prefix_space", true);
        String scheme = metaspace.find("prepend_scheme");
        Prefix prefix =
                switch (scheme == null ? added ? "always" : "never" : scheme) {
                    case "always" -> Prefix.ALWAYS;
                    case "first" -> Prefix.FIRST;
                    case "never" -> Prefix.NEVER;
                    default -> throw metaspace.fail("prepend_scheme", "always, first or never");
                };
        if (!added && prefix != Prefix.NEVER) {
            throw metaspace.fail("prepend_scheme", "never, as add_prefix_space is false");
        }
        if (prefix == Prefix.FIRST && division() == Division.WORDS) {
            throw metaspace.fail("prepend_scheme", "always or never after WhitespaceSplit");
        }
        return prefix;
    }
}
