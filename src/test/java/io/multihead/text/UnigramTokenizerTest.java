package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.text.unigram.CharacterMap;
import io.multihead.internal.text.unigram.UnigramBuffer;
import io.multihead.support.WarmCalls;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Unigram models from {@code tokenizer.json}: the settings of a file, and errors that name unexpected settings. */
@Execution(ExecutionMode.CONCURRENT)
class UnigramTokenizerTest {
    private static final String XLMR = UnigramFixture.xlmr();
    private static final int MASK = UnigramFixture.PIECES.size();

    @TempDir
    Path folder;

    private static UnigramTokenizer read(String json) {
        return (UnigramTokenizer) Tokenizers.ofJson(json.getBytes(StandardCharsets.UTF_8));
    }

    private static int id(String piece) {
        int id = UnigramFixture.PIECES.indexOf(piece);
        assertTrue(id >= 0, piece);
        return id;
    }

    private static int[] ids(String... pieces) {
        return IntStream.range(0, pieces.length)
                .map(i -> pieces[i].equals("<mask>") ? MASK : id(pieces[i]))
                .toArray();
    }

    @Test
    void aTextOfAUserHasNoControlTokens() {
        UnigramTokenizer tokenizer = read(XLMR);
        assertArrayEquals(ids("\u2581a", "<unk>", "\u2581a"), tokenizer.encode("a<s> a"));
        assertArrayEquals(ids("\u2581a", "<s>", "\u2581a"), tokenizer.encode(PromptText.template("a<s> a")));
        assertArrayEquals(ids("\u2581a", "<mask>", "\u2581a"), tokenizer.encode(PromptText.template("a <mask>a")));
        assertArrayEquals(
                ids("\u2581a", "<mask>", "\u2581a"),
                tokenizer.encode(PromptText.template("a \uff1cmask>a")),
                "normalized first");
        assertArrayEquals(ids("\u2581a", "\u2581", "<unk>", "a", "<unk>", "\u2581a"), tokenizer.encode("a <mask> a"));
        assertArrayEquals(
                ids("\u2581", "<s>"), tokenizer.encode(PromptText.template("\uff1cs>")), "a piece, as in the crate");
        assertArrayEquals(ids("\u2581", "<unk>"), tokenizer.encode("\uff1cs>"));
    }

    @Test
    void aCharacterOfFewBytesIsReplacedAsAWhole() {
        UnigramTokenizer tokenizer = read(XLMR);
        assertArrayEquals(ids("\u2581", "\u00e9"), tokenizer.encode("e\u0301"));
        assertArrayEquals(ids("\u2581", "\u00e9"), tokenizer.encode("e\u0301\u0323"), "the shortest sequence");
        assertArrayEquals(
                ids("\u2581", "e", "\u0301", "\u0301", "\u0301"),
                tokenizer.encode("e\u0301\u0301\u0301"),
                "seven bytes");
        assertArrayEquals(ids("\u2581a"), tokenizer.encode("\u00aa\u0301"), "the mark vanishes");
        assertArrayEquals(ids("\u2581", "fi"), tokenizer.encode("\ufb01"));
        assertArrayEquals(new int[0], tokenizer.encode("\r\n \u3000\u200b"));
    }

    @Test
    void offsetsAreThoseOfTheText() {
        EncoderTokenizer tokenizer = Tokenizers.ofEncoderJson(XLMR.getBytes(StandardCharsets.UTF_8));
        TokenBuffer buffer = new TokenBuffer();
        tokenizer.append("  ab\u200b \ufb01\ud83d\ude00 zz <mask>b", buffer);
        List<String> all = new ArrayList<>();
        for (int i = 0; i < buffer.size(); i++) {
            all.add(tokenizer.token(buffer.id(i)) + " " + buffer.start(i) + " " + buffer.end(i) + " "
                    + buffer.continuesWord(i));
        }
        assertEquals(
                List.of(
                        "\u2581ab 2 5 false",
                        "\u2581 6 7 false",
                        "fi 6 7 true",
                        "\ud83d\ude00 7 9 true",
                        "\u2581 10 11 false",
                        "<unk> 10 12 true",
                        "<mask> 12 19 false",
                        "\u2581 19 20 false",
                        "b 19 20 true"),
                all);
        TokenBuffer byIds = new TokenBuffer();
        tokenizer.append(tokenizer.encodeWithSpecialTokens("  ab\u200b \ufb01\ud83d\ude00 zz <mask>b"), byIds);
        for (int i = 0; i < byIds.size(); i++) {
            assertEquals(buffer.continuesWord(i), byIds.continuesWord(i), "token " + i);
        }
        assertArrayEquals(
                ids("\u2581a"),
                Arrays.copyOfRange(tokenizer.withSpecialTokensInText(false).encodeWithSpecialTokens("a"), 1, 2));
    }

    @Test
    void aFolderIsThatOfAnEncoder() throws IOException {
        Files.writeString(folder.resolve("tokenizer.json"), XLMR);
        Files.writeString(folder.resolve("tokenizer_config.json"), """
                {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "tokenizer_class": "XLMRobertaTokenizer"}""");
        EncoderTokenizer tokenizer = Tokenizers.loadEncoder(folder);
        assertArrayEquals(new int[] {0, id("\u2581a"), 2}, tokenizer.encodeWithSpecialTokens("a"));
        assertArrayEquals(new int[] {0, id("\u2581a"), 2}, tokenizer.encodeWithSpecialTokens("a ab ab", 3));
        assertEquals(2, tokenizer.count("a a"));
        assertArrayEquals(ids("\u2581a"), tokenizer.encode("a"));
        assertEquals(2, tokenizer.separators());
        assertEquals(1, Tokenizers.load(folder).specialIds().padding());
        assertEquals("a ab", Tokenizers.load(folder).decode(ids("\u2581a", "\u2581ab")));
    }

    @Test
    void whatMetaspaceSaysIsDone() {
        String first = UnigramFixture.json(
                UnigramFixture.precompiled(),
                UnigramFixture.metaspace(", \"prepend_scheme\": \"first\", \"split\": true"),
                UnigramFixture.PIECES,
                UnigramFixture.scores(MASK),
                false);
        UnigramTokenizer tokenizer = read(first);
        assertArrayEquals(
                ids("\u2581a", "\u2581", "\u2581", "\u2581a", "<mask>", "a"),
                tokenizer.encode(PromptText.template("a   a <mask>a")));
        tokenizer = read(first.replace("\"first\", \"split\": true", "\"never\", \"split\": false"));
        assertArrayEquals(ids("a", "\u2581\u2581", "\u2581a"), tokenizer.encode("a   a"));
        String collapse = "{\"type\": \"Sequence\", \"normalizers\": [" + UnigramFixture.precompiled()
                + ", {\"type\": \"Strip\", \"strip_left\": false, \"strip_right\": true},"
                + " {\"type\": \"Replace\", \"pattern\": {\"Regex\": \" {2,}\"}, \"content\": \"\u2581\"}]}";
        tokenizer = read(first.replace(UnigramFixture.precompiled(), collapse));
        assertArrayEquals(ids("\u2581a", "\u2581a"), tokenizer.encode("a   a \n"));
        assertArrayEquals(ids("\u2581", "\u2581a"), tokenizer.encode("\u2581\u2581a"), "a word begins at each mark");
        assertArrayEquals(
                ids("\u2581a", "\u2581", "\u2581", "<mask>"),
                tokenizer.encode(PromptText.template("a  \u2581<mask>")),
                "a mark is no white space");
    }

    @Test
    void unknownCodePointsBecomeBytesWhereAllAreKnown() {
        List<String> pieces = new ArrayList<>(UnigramFixture.PIECES);
        pieces.addAll(List.of("<0xE4>", "<0xB8>", "<0xAD>"));
        String json = UnigramFixture.json(
                        "null", UnigramFixture.metaspace(""), pieces, UnigramFixture.scores(pieces.size()), false)
                .replace("\"byte_fallback\": false", "\"byte_fallback\": true");
        UnigramTokenizer tokenizer = read(json);
        int first = UnigramFixture.PIECES.size();
        assertArrayEquals(
                new int[] {id("\u2581a"), first, first + 1, first + 2, id("b")}, tokenizer.encode("a\u4e2db"));
        assertArrayEquals(new int[] {id("\u2581a"), 3, id("b")}, tokenizer.encode("a\u4e2dzb"), "z has no byte");
        assertEquals("a\u4e2db", tokenizer.decode(tokenizer.encode("a\u4e2db")));
        assertEquals(TokenType.BYTE, tokenizer.type(first));
    }

    @Test
    void warmCallsAllocateNothing() {
        EncoderTokenizer tokenizer = Tokenizers.ofEncoderJson(XLMR.getBytes(StandardCharsets.UTF_8));
        TokenBuffer buffer = new TokenBuffer();
        String text = "ab e\u0301 \ufb01 \u5b57\u5b57 \ud83d\ude00 zz <mask> bab ".repeat(20);
        long bytes = WarmCalls.allocatedBytes(() -> {
            buffer.clear();
            tokenizer.append(text, buffer);
        });
        assertEquals(0, bytes);
        assertFalse(buffer.size() < 100);
    }

    /**
     * With a longest piece of 512 bytes, a word of 200,000 bytes takes at most 10^8 steps. A loop over all pairs of
     * positions would take 2 * 10^10 steps.
     */
    @Test
    void timeIsLinear() {
        List<String> pieces = new ArrayList<>(UnigramFixture.PIECES);
        pieces.add("a".repeat(512));
        UnigramTokenizer tokenizer = read(UnigramFixture.json(
                "null", UnigramFixture.metaspace(""), pieces, UnigramFixture.scores(pieces.size()), false));
        int[] ids = tokenizer.encode("a".repeat(200_000));
        assertEquals("a".repeat(200_000), tokenizer.decode(ids));
        pieces.set(pieces.size() - 1, "a".repeat(513));
        String json = UnigramFixture.json(
                "null", UnigramFixture.metaspace(""), pieces, UnigramFixture.scores(pieces.size()), false);
        String message =
                assertThrows(IllegalArgumentException.class, () -> read(json)).getMessage();
        assertTrue(message.endsWith("513 bytes; expected at most 512 without U+0000"), message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "\"type\": \"Precompiled\"|\"type\": \"NFKC\"|tokenizer.normalizer.type: NFKC; expected Precompiled, BertNormalizer, Strip or Replace",
                "\"precompiled_charsmap\": \"|\"precompiled_charsmap\": \"!|tokenizer.normalizer.precompiled_charsmap: Illegal base64 character 21; expected base 64",
                "\"precompiled_charsmap\": \"|\"precompiled_charsmap\": \"////|tokenizer.normalizer.precompiled_charsmap: ",
                "WhitespaceSplit|Whitespace|tokenizer.pre_tokenizer: 2 parts; expected Metaspace, optionally after WhitespaceSplit",
                "\"replacement\": \"\u2581\"|\"replacement\": \"_\"|tokenizer.pre_tokenizer.pretokenizers.replacement: _; expected \u2581",
                "\"add_prefix_space\": true|\"split\": false|tokenizer.pre_tokenizer.pretokenizers.split: false; expected true after WhitespaceSplit",
                "\"add_prefix_space\": true|\"prepend_scheme\": \"first\"|tokenizer.pre_tokenizer.pretokenizers.prepend_scheme: first; expected always or never after WhitespaceSplit",
                "\"unk_id\": 3|\"unk_id\": null|tokenizer.model.unk_id: null; expected an integer from 0 to 20",
                "[\"a\", |[|tokenizer.model.vocab: [-1.1]; expected a piece and its score",
                "\"id\": 21|\"id\": 22|tokenizer.added_tokens.id: 22; expected the id of the piece \"<mask>\", or else 21",
                "\"id\": 2, \"content\"|\"id\": 4, \"content\"|tokenizer.added_tokens.id: 4; expected the id of the piece \"</s>\", or else 21",
                "\"ids\": [2]|\"ids\": [3]|tokenizer.post_processor.special_tokens.</s>.ids: [3]; expected [2], the vocabulary's id of </s>",
            })
    void whatIsNotImplementedIsNamed(String part, String other, String message) {
        String json = XLMR.replaceFirst(Pattern.quote(part), Matcher.quoteReplacement(other));
        assertTrue(!json.equals(XLMR), part);
        String actual =
                assertThrows(IllegalArgumentException.class, () -> read(json)).getMessage();
        assertTrue(actual.startsWith(message), actual);
    }

    /** A file of model2vec has spaces around all punctuation. Other files are refused. */
    @Test
    void partsOfModel2VecsNormalizerAreNamed() {
        String whole = UnigramFixture.model2vec(UnigramFixture.precompiled());
        String percent = "{\"type\": \"Replace\", \"pattern\": {\"String\": \"%\"}, \"content\": \" % \"}, ";
        for (String[] each : new String[][] {
            {
                percent,
                percent + percent,
                "tokenizer.normalizer.normalizers.content:  % ; expected a character that no earlier part has"
            },
            {
                percent,
                "",
                "tokenizer.normalizer: spaces around !\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~; expected them around !"
            },
            {
                "\" % \"",
                "\" %\"",
                "tokenizer.normalizer.normalizers.content:  %; expected a punctuation character of ASCII"
            },
            {
                "\"%\"",
                "\"x\"",
                "tokenizer.normalizer.normalizers.content:  % ; expected a punctuation character of ASCII"
            },
            {
                "\\\\s+",
                "\\\\s*",
                "tokenizer.normalizer.normalizers.pattern.Regex: \\s*; expected  {2,}, or \\s+ for a space"
            }
        }) {
            assertTrue(whole.contains(each[0]), each[0]);
            String json = UnigramFixture.json(
                    whole.replace(each[0], each[1]),
                    UnigramFixture.metaspace(""),
                    UnigramFixture.PIECES,
                    UnigramFixture.scores(UnigramFixture.PIECES.size()),
                    false);
            String actual = assertThrows(IllegalArgumentException.class, () -> read(json))
                    .getMessage();
            assertTrue(actual.startsWith(each[2]), actual);
        }
    }

    @Test
    void anEncoderNeedsTokensAroundAText() {
        String one = XLMR.replaceFirst("\\{\"SpecialToken\": \\{\"id\": \"<s>\"}}, \\{\"Seq", "{\"Seq");
        assertTrue(
                message(one).startsWith("tokens around a text: END; expected one before it and one after it"),
                message(one));
        String pair = XLMR.replace("{\"Sequence\": {\"id\": \"B\"}}, ", "");
        EncoderTokenizer unpaired = Tokenizers.ofEncoderJson(pair.getBytes(StandardCharsets.UTF_8));
        assertEquals(0, unpaired.separators());
        assertArrayEquals(
                Tokenizers.ofEncoderJson(XLMR.getBytes(StandardCharsets.UTF_8)).encodeWithSpecialTokens("ab"),
                unpaired.encodeWithSpecialTokens("ab"));
    }

    private static String message(String json) {
        return assertThrows(
                        IllegalArgumentException.class,
                        () -> Tokenizers.ofEncoderJson(json.getBytes(StandardCharsets.UTF_8)))
                .getMessage();
    }

    /** For any value of any byte of the array or of its length, a map is refused, or reads only within its arrays. */
    @Test
    void aMapOfAnyBytesIsRefusedOrSafe() {
        byte[] whole = UnigramFixture.map(UnigramFixture.CHARACTERS);
        byte[] text = "e\u0301\u0323\ufb01\n\ufe4f\uff1c".getBytes(StandardCharsets.UTF_8);
        int refused = 0;
        for (int at = 0; at < whole.length; at++) {
            if (at >= 4 && at < whole.length - 60 && whole[at] == 0 && at % 61 != 0) {
                continue;
            }
            for (int value : new int[] {0, 1, 0x7f, 0x80, 0xff, whole[at] ^ 4}) {
                byte[] changed = whole.clone();
                changed[at] = (byte) value;
                try {
                    CharacterMap map = CharacterMap.of(changed, "map");
                    UnigramBuffer buffer = new UnigramBuffer();
                    for (int from = 0; from < text.length; from++) {
                        long match = map.longest(text, from, text.length);
                        assertTrue(match == CharacterMap.NONE || CharacterMap.length(match) <= text.length - from);
                        if (match != CharacterMap.NONE) {
                            map.copyText(match, buffer, 0);
                        }
                    }
                } catch (IllegalArgumentException named) {
                    assertTrue(named.getMessage().startsWith("map: "), named.getMessage());
                    refused++;
                }
            }
        }
        assertTrue(refused > 100, refused + " refused");
    }

    @Test
    void aMapWithoutEndIsRefused() {
        byte[] file = new byte[4 + 1024 + 1];
        file[1] = 4;
        // the root's child for byte 1 has the same children as the root
        file[4 + 4] = 1;
        file[4 + 5] = 4;
        String message = assertThrows(IllegalArgumentException.class, () -> CharacterMap.of(file, "map"))
                .getMessage();
        assertEquals("map: sequences of more than 256 bytes; expected at most 256", message);
    }

    /** An empty base 64 text is a map that changes nothing. */
    @Test
    void anEmptyMapChangesNothing() {
        String json =
                XLMR.replace(Base64.getEncoder().encodeToString(UnigramFixture.map(UnigramFixture.CHARACTERS)), "");
        assertArrayEquals(ids("\u2581", "e", "\u0301"), read(json).encode("e\u0301"));
    }
}
