package io.multihead.it.tokenizers;

import io.multihead.text.Tokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;

/**
 * Compares ids of SentencePiece's Unigram models with SentencePiece, in a WebAssembly build in a package of npm, for
 * every code point in several contexts, random strings, and a corpus. The arguments are a folder with the two packages,
 * a folder with the texts of the corpus, and the script for node.
 */
public final class CompareSentencePiece {
    private static final int RANDOM = 100_000;

    private static final List<String> PARTS = List.of(
            ("a~the~ing~ ~  ~   ~\n~\t~\u3000~\u2581~ \u2581 ~(~)~\"~-~.~\u2013~\u00a3~\u20ac~\uff08~e\u0301~\ufb01~\ufdfa~\u00bd~\u0301~Hello~WORLD"
                            + "~\u4f60\u597d~\u1100\u1161~\uff76\uff9e~\ud83d\ude42~[MASK]~<unk>~\u200b~\u00ad~\u0001~ \u00a0")
                    .split("~"));

    private CompareSentencePiece() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Path folder = Path.of(args[0]);
        List<String> texts = texts(Path.of(args[1]));
        Path file = folder.resolve("texts");
        Files.writeString(file, String.join("\0", texts));
        for (String name : List.of("clean_30k_b64", "smart_b64")) {
            byte[] bytes = UnigramFiles.base64(folder.resolve("index.cjs"), name);
            Path model = Files.write(folder.resolve(name + ".model"), bytes);
            Path ids = folder.resolve(name + ".ids");
            Process node = new ProcessBuilder("node", args[2], model.toString(), file.toString(), ids.toString())
                    .directory(folder.toFile())
                    .inheritIO()
                    .start();
            if (node.waitFor() != 0) {
                throw new AssertionError("node: " + node.exitValue());
            }
            compare(
                    name,
                    Tokenizers.ofSentencePieceModel(bytes),
                    texts,
                    Files.readString(ids).split("\n", -1));
        }
    }

    private static void compare(String name, Tokenizer tokenizer, List<String> texts, String[] expected) {
        for (int i = 0; i < texts.size(); i++) {
            String actual = Arrays.stream(tokenizer.encode(texts.get(i)))
                    .mapToObj(String::valueOf)
                    .collect(Collectors.joining(" "));
            if (!actual.equals(expected[i])) {
                throw new AssertionError(name + ": " + CompareTokenizers.escaped(texts.get(i)) + ": SentencePiece has "
                        + expected[i] + ", and this library " + actual);
            }
        }
        System.out.println(name + ": " + texts.size() + " texts have the ids of SentencePiece");
    }

    private static List<String> texts(Path corpus) throws IOException {
        List<String> texts = new ArrayList<>();
        for (int c = 1; c <= Character.MAX_CODE_POINT; c++) {
            if (c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE) {
                String each = Character.toString(c);
                texts.add("a" + each + "b " + each + each + " \u00aa" + each + "e\u0301" + each + "\u0301 \u00bd" + each
                        + "\ufb01" + each + "\u0301 (" + each + ")-" + each);
            }
        }
        // U+0000 separates texts
        CompareTokenizers.corpus(corpus)
                .forEach(text -> texts.addAll(List.of(text.replace("\0", "").split("\n"))));
        Random random = new Random(1);
        for (int i = 0; i < RANDOM; i++) {
            StringBuilder text = new StringBuilder();
            for (int j = random.nextInt(14); j > 0; j--) {
                int c = 1 + random.nextInt(random.nextBoolean() ? 0x3000 : Character.MAX_CODE_POINT);
                boolean surrogate = c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE;
                boolean part = surrogate || random.nextInt(5) > 0;
                text.append(part ? PARTS.get(random.nextInt(PARTS.size())) : Character.toString(c));
            }
            texts.add(text.toString());
        }
        return texts;
    }
}
