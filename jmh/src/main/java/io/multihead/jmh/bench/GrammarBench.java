package io.multihead.jmh.bench;

import io.multihead.grammar.Grammar;
import io.multihead.grammar.TokenFilter;
import io.multihead.grammar.TokenMask;
import io.multihead.grammar.TokenVocabulary;
import io.multihead.text.SentencePieceTokenizer;
import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import io.multihead.text.SpecialIds;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import io.multihead.text.TokenType;
import io.multihead.text.Vocabulary;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * The compilation of a schema of 50 properties, and the masks of a text of 200 tokens, for a vocabulary of 151,936
 * tokens. The mask of one token takes 1/200 of this time.
 */
public class GrammarBench extends Timed {
    private static final int TOKENS = 151_936;
    private static final int LENGTH = 200;
    private static final int BYTES = 256;
    private static final int END = 256;

    /** Whether strings have a limit, so that every character leads to another mask. */
    @Param({"false", "true"})
    public boolean limited;

    private String schema = "";
    private TokenVocabulary vocabulary;
    private Grammar known;
    private TokenMask mask;
    private final List<Integer> text = new ArrayList<>();

    /** Creates the vocabulary, the schema, and a text of random allowed tokens. */
    @Setup(Level.Trial)
    public void open() {
        vocabulary = new TokenVocabulary(tokenizer());
        String[] kinds = {
            limited ? "{\"type\":\"string\",\"maxLength\":200}" : "{\"type\":\"string\"}",
            "{\"type\":\"integer\",\"minimum\":0}",
            "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}",
            "{\"enum\":[\"red\",\"green\",\"blue\"]}",
            "{\"type\":\"string\",\"format\":\"date\"}"
        };
        String properties = IntStream.range(0, 50)
                .mapToObj(i -> "\"property" + i + "\":" + kinds[i % 5])
                .collect(Collectors.joining(","));
        schema = "{\"type\":\"object\",\"properties\":{" + properties + "},\"required\":[\"property0\",\"property4\"]}";
        known = Grammar.ofJsonSchema(schema);
        mask = new TokenMask(TOKENS);
        Random random = new Random(1);
        TokenFilter filter = known.begin(vocabulary);
        while (text.size() < LENGTH) {
            mask.allowAll();
            filter.restrict(mask);
            mask.forbid(new float[TOKENS]);
            int token = mask.next(random.nextInt(TOKENS));
            token = token < 0 ? mask.next(0) : token;
            if (token == END) {
                break;
            }
            filter.accept(token);
            text.add(token);
        }
    }

    private static SentencePieceTokenizer tokenizer() {
        List<String> tokens = new ArrayList<>();
        List<TokenType> types = new ArrayList<>();
        for (int value = 0; value < BYTES; value++) {
            tokens.add(String.format("<0x%02X>", value));
            types.add(TokenType.BYTE);
        }
        tokens.add("</s>");
        types.add(TokenType.CONTROL);
        Random random = new Random(7);
        Set<String> seen = new HashSet<>();
        while (tokens.size() < TOKENS) {
            StringBuilder piece = new StringBuilder(random.nextBoolean() ? "\u2581" : "");
            int letters = 1 + random.nextInt(9);
            for (int i = 0; i < letters; i++) {
                // one character in forty is a JSON delimiter
                boolean sign = random.nextInt(40) == 0;
                piece.append(sign ? "\"{}[]:,\\".charAt(random.nextInt(8)) : (char) ('a' + random.nextInt(26)));
            }
            if (seen.add(piece.toString())) {
                tokens.add(piece.toString());
                types.add(TokenType.NORMAL);
            }
        }
        SpecialIds special = new SpecialIds(
                SpecialIds.NONE, END, SpecialIds.NONE, SpecialIds.NONE, Set.of(END), AddedSpecialTokens.NEITHER);
        return SentencePieceTokenizer.of(
                Vocabulary.of(tokens, types).withScores(new float[TOKENS]), special, SpacePrefix.NONE);
    }

    @Benchmark
    public Grammar compile() {
        return Grammar.ofJsonSchema(schema);
    }

    /** Computes all masks of the text. No mask is cached. */
    @Benchmark
    public int firstText() {
        return write(Grammar.ofJsonSchema(schema));
    }

    /** Uses the cached masks of a text that was written before. */
    @Benchmark
    public int sameText() {
        return write(known);
    }

    private int write(Grammar grammar) {
        TokenFilter filter = grammar.begin(vocabulary);
        int sum = 0;
        for (int token : text) {
            mask.allowAll();
            filter.restrict(mask);
            sum += mask.next(0);
            filter.accept(token);
        }
        return sum;
    }
}
