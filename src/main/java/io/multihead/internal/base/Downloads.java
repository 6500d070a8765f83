package io.multihead.internal.base;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The command that downloads a model of which a file is missing, and the detection of files that a download left instead of the requested files. The
 * first bytes of such a file identify it, so that parsers need no special errors.
 */
public final class Downloads {
    /** The end of the message about a file that is shorter than its header states. */
    public static final String CUT = "; the file is incomplete, as after an interrupted download";

    /** The number of bytes at the start of a file that suffice for the detection. */
    static final int HEAD = 512;

    /** The number of bytes of a file that {@link #requireBinary} reads. */
    private static final int TEXT = 24;

    private static final String POINTER = "version https://git-lfs.github.com/spec/";
    private static final Pattern SIZE = Pattern.compile("\nsize (\\d{1,18})\r?\n");
    private static final Pattern PAGE = Pattern.compile("\ufeff?\\s*(<!doctype html|<html)\\b.*", Pattern.DOTALL);

    private Downloads() {}

    /**
     * Returns the model that is read from a path. If one of its files is missing, the message ends with the command that downloads the
     * model, or the missing part of a split GGUF file. Within another such call, the command is for the outer path.
     *
     * @param path the model's folder or GGUF file
     */
    public static <T> T withCommand(Path path, Checks.Reading<T, IOException> reading) throws IOException {
        try {
            return reading.read();
        } catch (NoSuchFileException missing) {
            Path file = path.getFileSystem().getPath(String.valueOf(missing.getFile()));
            String command = Checks.download(file.toString().endsWith(".gguf") ? file : path);
            String reason = String.valueOf(missing.getReason());
            if (reason.endsWith(command)) {
                throw missing;
            }
            int inner = reason.indexOf("; " + Checks.DOWNLOAD);
            String own = inner < 0 ? reason : reason.substring(0, inner);
            NoSuchFileException named = new NoSuchFileException(missing.getFile(), null, own + "; " + command);
            named.initCause(missing);
            throw named;
        }
    }

    /** Fails if a file that should be binary begins with text, such as the message of a server. */
    public static void requireBinary(MemorySegment file, String expected) {
        byte[] head = file.asSlice(0, Math.min(file.byteSize(), TEXT)).toArray(ValueLayout.JAVA_BYTE);
        String bytes = new String(head, StandardCharsets.ISO_8859_1);
        if (head.length > 0 && bytes.chars().allMatch(Downloads::isPrintable)) {
            String start = new String(head, StandardCharsets.UTF_8)
                    .replace("\ufffd", ""); // the last character may be truncated
            throw Checks.fail("file", "begins with the text \"" + start.strip() + "\"", "expected " + expected);
        }
    }

    /** Returns whether a byte may occur in UTF-8 text: an ASCII character, or a byte of a longer character. */
    private static boolean isPrintable(int c) {
        return c >= ' ' && c < 0x7f
                || c == '\n'
                || c == '\r'
                || c == '\t'
                || c >= 0x80 && c < 0xc0
                || c >= 0xc2 && c < 0xf5;
    }

    /** Fails if a file begins like a pointer of Git LFS or like a web page, neither of which is a file of a model. */
    static void requireFile(Path file, byte[] head) {
        String start = new String(head, StandardCharsets.UTF_8);
        if (start.startsWith(POINTER)) {
            Matcher size = SIZE.matcher(start);
            throw Checks.fail(
                    file.toString(),
                    "a pointer of Git LFS",
                    "expected the file itself" + (size.find() ? ", " + size.group(1) + " bytes" : "")
                            + "; get it by: git lfs pull, or hf download");
        }
        if (PAGE.matcher(start.toLowerCase(Locale.ROOT)).matches()) {
            throw Checks.fail(
                    file.toString(),
                    "a web page (HTML)",
                    "expected the file itself; get it by: hf download, or the page's link for downloads");
        }
    }
}
