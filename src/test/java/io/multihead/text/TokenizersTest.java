package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.text.pairs.ByteAlphabet;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The settings of tokenizer files, and errors that name unexpected settings. */
class TokenizersTest {
    private static final int AB = 256;
    static final int END = 257;
    static final int STRIPPED = 258;
    static final int WORD = 259;

    /** A file with all bytes, one merge, and tokens of every kind. The id of a byte is its value. */
    static final String BYTES = """
            {"normalizer": {"type": "NFC"},
             "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
               {"type": "Split", "pattern": {"Regex": "%s"}, "behavior": "Isolated", "invert": false},
               {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
             "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing",
               "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|end|>", "type_id": 0}}],
               "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [257], "tokens": ["<|end|>"]}}}]},
             "added_tokens": [
               {"id": 257, "content": "<|end|>", "special": true, "normalized": false},
               {"id": 258, "content": "[s]", "special": false, "lstrip": true, "rstrip": true},
               {"id": 259, "content": "word", "special": false, "single_word": true}],
             "model": {"type": "BPE", "dropout": null, "byte_fallback": false, "ignore_merges": false,
               "vocab": {%s, "ab": 256}, "merges": [["a", "b"]]}}
            """.formatted(
                    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*"
                            + "|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+",
                    IntStream.range(0, 256)
                            .mapToObj(value -> "\"" + quoted(ByteAlphabet.character(value)) + "\": " + value)
                            .collect(Collectors.joining(", ")));

    static final String PIECES = """
            {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
               {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
             "pre_tokenizer": null,
             "added_tokens": [{"id": 0, "content": "<unk>", "special": true}, {"id": 1, "content": "<s>", "special": true}],
             "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": false,
               "vocab": {"<unk>": 0, "<s>": 1, "\u2581": 2, "a": 3, "b": 4, "\u2581a": 5, "ab": 6},
               "merges": ["a b", "\u2581 a"]}}
            """;

    @TempDir
    Path folder;

    private static String quoted(char c) {
        return c == '"' || c == '\\' ? "\\" + c : String.valueOf(c);
    }

    static Tokenizer read(String json) {
        return Tokenizers.ofJson(json.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void bytesMergeInTheOrderOfTheFile() {
        Tokenizer tokenizer = read(BYTES);
        assertEquals(260, tokenizer.vocabularySize());
        assertArrayEquals(new int[] {AB, ' ', AB}, tokenizer.encode("ab ab"));
        assertArrayEquals(new int[] {AB, END}, tokenizer.withSpecialTokens(tokenizer.encode("ab")));
        assertArrayEquals(new int[] {0xc3, 0xa9}, tokenizer.encode("e\u0301"), "composed first");
        assertArrayEquals(
                tokenizer.encode("ab"),
                read(BYTES.replace("[\"a\", \"b\"]", "\"a b\"")).encode("ab"));
        assertEquals(AddedSpecialTokens.END, tokenizer.specialIds().added());
        assertEquals(Set.of(END), tokenizer.specialIds().stopTokens());
    }

    @Test
    void addedTokensTakeWhatTheirFlagsSay() {
        Tokenizer tokenizer = read(BYTES);
        assertArrayEquals(new int[] {'a', STRIPPED, 'b'}, tokenizer.encode("a \n[s]\t b"));
        assertArrayEquals(new int[] {'-', WORD, '-'}, tokenizer.encode("-word-"));
        assertArrayEquals(new int[] {'w', 'o', 'r', 'd', 's'}, tokenizer.encode("words"));
        assertArrayEquals(new int[] {'_', 'w', 'o', 'r', 'd'}, tokenizer.encode("_word"));
        assertArrayEquals(new int[] {AB, END}, tokenizer.encode(PromptText.template("ab<|end|>")));
        assertEquals("ab<|end|>", tokenizer.decode(tokenizer.encode("ab<|end|>")));
    }

    /** RoBERTa's file has bytes, and two separators between texts. {@code <mask>} includes the space before it. */
    @Test
    void bytesMayBeThoseOfAnEncoder() throws IOException {
        String roberta = BYTES.replaceFirst("\\{\"normalizer\": \\{\"type\": \"NFC\"},", "{")
                .replaceFirst("(?s)\"post_processor\": .*?\"added_tokens\"", """
                        "post_processor": {"type": "RobertaProcessing", "sep": ["<|end|>", 257], "cls": ["<|end|>", 257],
                          "trim_offsets": true, "add_prefix_space": false}, "added_tokens\"""");
        Files.writeString(folder.resolve("tokenizer.json"), roberta);
        EncoderTokenizer tokenizer = Tokenizers.loadEncoder(folder);
        assertArrayEquals(new int[] {END, AB, ' ', AB, END}, tokenizer.encodeWithSpecialTokens("ab ab"));
        assertArrayEquals(new int[] {END, 0xc3, 0xa9, 'x', END}, tokenizer.encodeWithSpecialTokens("\u00e9x"));
        assertEquals(2, tokenizer.separators());
        TokenBuffer buffer = new TokenBuffer();
        tokenizer.append("ab \ud83d\ude00[s] ab<|end|>", buffer);
        assertArrayEquals(new int[] {AB, ' ', 0xf0, 0x9f, 0x98, 0x80, STRIPPED, AB, END}, buffer.ids());
        assertArrayEquals(
                new int[] {0, 2, 3, 3, 3, 3, 5, 9, 11},
                IntStream.range(0, 9).map(buffer::start).toArray());
        assertArrayEquals(
                new int[] {2, 3, 5, 5, 5, 5, 9, 11, 18},
                IntStream.range(0, 9).map(buffer::end).toArray());
        assertEquals(
                List.of(2, 3, 4, 5, 7),
                IntStream.range(0, 9).filter(buffer::continuesWord).boxed().toList());
        String message = assertThrows(
                        IllegalArgumentException.class,
                        () -> Tokenizers.ofEncoderJson(PIECES.getBytes(StandardCharsets.UTF_8)))
                .getMessage();
        assertTrue(message.endsWith("WordPiece, Unigram, or BPE over bytes, for an encoder"), message);
    }

    /** Static embeddings ignore the template of a file. */
    @Test
    void nothingMayBePutAroundTexts() {
        byte[] file = BYTES.getBytes(StandardCharsets.UTF_8);
        for (EncoderTokenizer tokenizer : List.of(
                Tokenizers.ofStaticJson(file, false),
                Tokenizers.ofStaticJson(file, false).withSpecialTokensInText(false))) {
            assertEquals(0, tokenizer.specialTokenCount());
            assertEquals(SpecialIds.NONE, tokenizer.firstToken());
            assertEquals(SpecialIds.NONE, tokenizer.lastToken());
            assertArrayEquals(new int[] {AB, ' ', AB}, tokenizer.encodeWithSpecialTokens("ab ab"));
            assertArrayEquals(new int[] {AB, ' '}, tokenizer.encodeWithSpecialTokens("ab ab", 2));
            assertArrayEquals(new int[0], tokenizer.encodeWithSpecialTokens(""));
            assertEquals(3, tokenizer.count("ab ab"));
            TokenBuffer buffer = new TokenBuffer();
            tokenizer.append(new int[] {AB, ' '}, buffer);
            assertArrayEquals(new int[] {AB, ' '}, buffer.ids());
            assertThrows(IllegalArgumentException.class, () -> tokenizer.append(new int[] {260}, buffer));
            assertEquals(2, buffer.size());
        }
        String message = assertThrows(
                        IllegalArgumentException.class,
                        () -> Tokenizers.ofStaticJson(PIECES.getBytes(StandardCharsets.UTF_8), false))
                .getMessage();
        assertTrue(message.endsWith("WordPiece, Unigram, or BPE over bytes, for an encoder"), message);
    }

    /** model2vec omits the unknown token of a file, even if a text contains it literally. */
    @Test
    void unknownTokensOfBytePairsMayBeLeftOut() {
        byte[] file = BYTES.replace("\"dropout\": null", "\"unk_token\": \"<|end|>\", \"dropout\": null")
                .getBytes(StandardCharsets.UTF_8);
        String text = "ab<|end|>ab";
        assertArrayEquals(
                new int[] {AB, END, AB}, Tokenizers.ofStaticJson(file, false).encodeWithSpecialTokens(text));
        EncoderTokenizer tokenizer = Tokenizers.ofStaticJson(file, true);
        assertArrayEquals(new int[] {AB, AB}, tokenizer.encodeWithSpecialTokens(text));
        TokenBuffer buffer = new TokenBuffer();
        tokenizer.append(new int[] {AB, END, AB}, buffer);
        assertArrayEquals(new int[] {AB, AB}, buffer.ids());
        EncoderTokenizer plain = tokenizer.withSpecialTokensInText(false);
        assertEquals(2 + "<|end|>".length(), plain.count(text) + plain.specialTokenCount());
    }

    /** Returns a tokenizer with BERT's template and composed bytes, like ModernBERT's. */
    private static EncoderTokenizer composing() {
        String begin = "{\"SpecialToken\": {\"id\": \"[s]\", \"type_id\": 0}}";
        String end = "{\"SpecialToken\": {\"id\": \"<|end|>\", \"type_id\": 0}}";
        String text = "{\"Sequence\": {\"id\": \"%s\", \"type_id\": 0}}";
        String template = """
                "post_processor": {"type": "TemplateProcessing", "single": [%1$s, %2$s, %4$s], "pair": [%1$s, %2$s, %4$s, %3$s, %4$s],
                  "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [257]}, "[s]": {"id": "[s]", "ids": [258]}}}, "added_tokens\"""".formatted(begin, text.formatted("A"), text.formatted("B"), end);
        String json = BYTES.replaceFirst("(?s)\"post_processor\": .*?\"added_tokens\"", template.replace("$", "\\$"));
        return Tokenizers.ofEncoderJson(json.getBytes(StandardCharsets.UTF_8));
    }

    private static List<List<Integer>> places(EncoderTokenizer tokenizer, String text) {
        TokenBuffer buffer = new TokenBuffer();
        tokenizer.append(text, buffer);
        return IntStream.range(0, buffer.size())
                .mapToObj(i -> List.of(buffer.id(i), buffer.start(i), buffer.end(i)))
                .toList();
    }

    /**
     * A composed character has the place of all characters that were composed, here two characters from index 1 on. The
     * characters around it have their own places.
     */
    @Test
    void anEncodersTextMayBeComposed() {
        EncoderTokenizer tokenizer = composing();
        assertEquals(1, tokenizer.separators());
        assertArrayEquals(
                new int[] {STRIPPED, AB, 0xc3, 0xa9, 'x', END}, tokenizer.encodeWithSpecialTokens("abe\u0301x"));
        assertEquals(
                List.of(
                        List.of((int) 'a', 0, 1),
                        List.of(0xc3, 1, 3),
                        List.of(0xa9, 1, 3),
                        List.of((int) 'x', 3, 4),
                        List.of(END, 4, 11),
                        List.of((int) 'y', 11, 12)),
                places(tokenizer, "ae\u0301x<|end|>y"));
        // Hangul's jamo, and a mark that composes across another mark
        assertEquals(
                List.of(List.of(0xea, 0, 3), List.of(0xb0, 0, 3), List.of(0x81, 0, 3), List.of((int) 'z', 3, 4)),
                places(tokenizer, "\u1100\u1161\u11a8z"));
        assertEquals(
                List.of(List.of(0xe1, 0, 3), List.of(0xb9, 0, 3), List.of(0xa9, 0, 3)),
                places(tokenizer, "s\u0307\u0323"));
        // a character that becomes another single character, among characters of two UTF-16 units
        assertEquals(
                List.of(
                        List.of(0xf0, 0, 2),
                        List.of(0x9f, 0, 2),
                        List.of(0x98, 0, 2),
                        List.of(0x80, 0, 2),
                        List.of(0xc3, 2, 3),
                        List.of(0x85, 2, 3)),
                places(tokenizer, "\ud83d\ude00\u212b"));
    }

    /**
     * Encoding of composed text and encoding with places return the same ids. Places are in order, and all are within
     * the text.
     */
    @Test
    void composedTextHasPlacesInOrder() {
        EncoderTokenizer tokenizer = composing();
        SplittableRandom random = new SplittableRandom(4);
        int[] some = {
            'a', 'b', ' ', 'e', 0x301, 0x327, 0x1100, 0x1161, 0x11a8, 0xac00, 0x212b, 0x1f600, 0x9c7, 0x9be, 0x16d68,
            0x16d67
        };
        for (int round = 0; round < 2000; round++) {
            StringBuilder text = new StringBuilder();
            random.ints(1 + random.nextInt(8), 0, some.length).forEach(i -> text.appendCodePoint(some[i]));
            String composed = java.text.Normalizer.normalize(text, java.text.Normalizer.Form.NFC);
            List<List<Integer>> places = places(tokenizer, text.toString());
            assertEquals(
                    places(tokenizer, composed).stream().map(List::getFirst).toList(),
                    places.stream().map(List::getFirst).toList(),
                    text.toString());
            int last = 0;
            for (List<Integer> place : places) {
                assertTrue(place.get(1) >= last && place.get(1) < place.get(2), places.toString());
                assertTrue(place.get(2) <= text.length(), places.toString());
                last = place.get(1);
            }
            assertEquals(text.length(), places.getLast().get(2));
        }
    }

    /**
     * Found by comparison with the crate: joiners, and letters in the categories of symbols or numbers, were classified
     * incorrectly.
     */
    @Test
    void whatTouchesASingleWordIsAWordAsInTheCrate() {
        Tokenizer tokenizer = read(BYTES);
        for (String touching : List.of("\u200d", "\u200c", "\u24b6", "\u2160", "\u0301", "1", "x")) {
            assertEquals(-1, indexOf(tokenizer.encode(touching + "word"), WORD), touching);
            assertEquals(-1, indexOf(tokenizer.encode("word" + touching), WORD), touching);
        }
        for (String apart : List.of("\u00bd", "\u200b", "'", "\u0000")) {
            assertEquals(0, indexOf(tokenizer.encode("word" + apart), WORD), apart);
        }
    }

    private static int indexOf(int[] ids, int id) {
        return IntStream.range(0, ids.length)
                .filter(i -> ids[i] == id)
                .findFirst()
                .orElse(-1);
    }

    @Test
    void piecesMergeInTheOrderOfTheFile() {
        Tokenizer tokenizer = read(PIECES);
        assertArrayEquals(new int[] {2, 6}, tokenizer.encode("ab"), "not the space and a, which merge later");
        assertArrayEquals(new int[] {5, 0, 5}, tokenizer.encode("axy\u4e2d a"), "one unknown token for a run");
        assertArrayEquals(new int[] {5, 1, 5}, tokenizer.encode(PromptText.template("a<s>a")));
        assertEquals("ab ab", tokenizer.decode(tokenizer.encode("ab ab")));
        assertArrayEquals(new int[] {2, 5}, tokenizer.encode(" a"));
    }

    @ParameterizedTest
    @CsvSource({"always,5,5", "first,5,3", "never,3,3"})
    void metaspacePutsASpaceWhereThereIsNone(String scheme, int first, int second) {
        String metaspace = PIECES.replaceAll("(?s)\\{\"normalizer.*?\"pre_tokenizer\": null", """
                {"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "split": false, "prepend_scheme": "%s"}""".formatted(scheme));
        Tokenizer tokenizer = read(metaspace);
        assertArrayEquals(new int[] {first, 1, second}, tokenizer.encode(PromptText.template("a<s>a")));
        assertArrayEquals(new int[] {5}, tokenizer.encode(" a"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"BPE\"|\"WordPiece\"|tokenizer.model.type: WordPiece; expected BPE or Unigram",
                "\"dropout\": null|\"dropout\": 0.1|tokenizer.model.dropout: 0.1; expected null",
                "\"NFC\"|\"NFKC\"|tokenizer.normalizer.type: NFKC; expected NFC",
                "\"Isolated\"|\"Removed\"|tokenizer.pre_tokenizer.pretokenizers.behavior: Removed; expected Isolated",
                "+(?!|*(?!|tokenizer.pre_tokenizer.pretokenizers.pattern.Regex: ",
                "\"add_prefix_space\": false|\"add_prefix_space\": true|tokenizer.pre_tokenizer.pretokenizers.add_prefix_space: true; expected false",
                "[257]|[258]|tokenizer.post_processor.processors.special_tokens.<|end|>.ids: [258]; expected [257], the vocabulary's id of <|end|>",
                "{\"type\": \"ByteLevel\"}|{\"type\": \"BertProcessing\"}|tokenizer.post_processor.processors.type: BertProcessing; expected ByteLevel, TemplateProcessing or RobertaProcessing",
                "\"ab\": 256|\"ab\": 255|token \"ab\": id 255; expected an id other than the id of ",
                "\"ab\": 256|\"ab\": 100000|tokenizer.model.vocab.ab: 100000; expected an integer from 0 to 520",
                "\"ab\": 256|\"cd\": 256|merges[0]: \"ab\"; expected tokens of the vocabulary",
                "[\"a\", \"b\"]|[\"a\"]|tokenizer.model.merges: [a]; expected two tokens",
            })
    void whatNoFamilyHasIsNamed(String part, String other, String message) {
        String json = BYTES.replace(part, other);
        assertTrue(!json.equals(BYTES), part);
        String actual =
                assertThrows(IllegalArgumentException.class, () -> read(json)).getMessage();
        assertTrue(actual.startsWith(message), actual);
    }

    @Test
    void idsWithoutATokenAddNothing() {
        Tokenizer tokenizer = read(BYTES.replace("259", "300"));
        assertEquals(301, tokenizer.vocabularySize());
        assertEquals(TokenType.UNUSED, tokenizer.type(280));
        assertEquals("ab", tokenizer.decode(AB, 280));
    }

    @Test
    void aFolderNamesItsSpecialTokens() throws IOException {
        Files.writeString(folder.resolve("tokenizer.json"), PIECES);
        Files.writeString(folder.resolve("tokenizer_config.json"), """
                {"bos_token": {"content": "<s>"}, "eos_token": "b", "pad_token": null, "add_bos_token": true}""");
        Files.writeString(folder.resolve("generation_config.json"), "{\"eos_token_id\": [4, 6]}");
        SpecialIds special = Tokenizers.load(folder).specialIds();
        assertEquals(new SpecialIds(1, 4, 0, SpecialIds.NONE, Set.of(4, 6), AddedSpecialTokens.BEGIN), special);
        Files.writeString(folder.resolve("tokenizer_config.json"), "{\"eos_token\": \"</s>\"}");
        String message = assertThrows(IllegalArgumentException.class, () -> Tokenizers.load(folder))
                .getMessage();
        assertTrue(
                message.endsWith(
                        "tokenizer.json: tokenizer_config.eos_token: \"</s>\"; expected a token of the vocabulary"),
                message);
    }

    /** The vocabularies of SmolLM2 and StarCoder lack tokens for some bytes. */
    @Test
    void bytesThatNoTokenHasAreLeftOut() {
        String without = BYTES.replace("\"\u0101\": 1, ", "").replace("\"\u00f1\": 241, ", "");
        Tokenizer tokenizer = read(without);
        assertArrayEquals(new int[] {'x', AB}, tokenizer.encode("x\u0001ab"));
        assertArrayEquals(new int[] {0x80, 0x80, 0x80}, tokenizer.encode("\ud8c0\udc00"), "U+40000");
        assertArrayEquals(new int[] {'-', '-'}, tokenizer.encode("-\u0001-"));
        assertEquals("xab", tokenizer.decode(tokenizer.encode("x\u0001ab")));
        assertArrayEquals(new int[0], tokenizer.encode("\u0001\u0001"));
        String merged = without.replace("[\"a\", \"b\"]", "[\"-\", \"-\"]").replace("\"ab\": 256", "\"--\": 256");
        assertArrayEquals(new int[] {AB}, read(merged).encode("-\u0001-"), "as the crate merges them");
        String unknown = without.replace("\"dropout\": null", "\"unk_token\": \"!\"");
        assertArrayEquals(new int[] {'-', '!', '!', '-'}, read(unknown).encode("-\u0001\u0001-"));
        String fused = unknown.replace("\"byte_fallback\"", "\"fuse_unk\": true, \"byte_fallback\"");
        assertArrayEquals(new int[] {'-', '!', '-'}, read(fused).encode("-\u0001\u0001-"));
        byte[] encoder = without.getBytes(StandardCharsets.UTF_8);
        String message = assertThrows(IllegalArgumentException.class, () -> Tokenizers.ofStaticJson(encoder, false))
                .getMessage();
        assertEquals("vocabulary: no token for byte 1; expected one for each byte of UTF-8", message);
    }

    /** Phi-3 finds {@code </s>} in any text, and its encoding inserts a space after this token. */
    @Test
    void theSpaceAfterATokenOfTextIsRemoved() {
        Tokenizer tokenizer = read(PIECES.replace(
                "{\"id\": 1, \"content\": \"<s>\", \"special\": true}",
                "{\"id\": 1, \"content\": \"<s>\", \"special\": false, \"normalized\": false}"));
        for (String text : List.of("<s>a", "<s> a", "a<s>b<s>", "a <s><s>  a", "<s>", " <s>b")) {
            int[] ids = tokenizer.encode(text);
            assertEquals(text, tokenizer.decode(ids));
            TextStream stream = new TextStream(tokenizer);
            StringBuilder parts = new StringBuilder();
            for (int id : ids) {
                parts.append(stream.append(id));
            }
            assertEquals(text.startsWith("<s>") ? text : " " + text, parts + stream.end());
        }
    }
}
