package io.multihead.internal.base;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A strict JSON reader (RFC 8259): input outside the grammar, repeated names, unpaired surrogates and deeper nesting than expected cause an
 * {@link IllegalArgumentException} with the position.
 *
 * <p>Objects are maps in the order of the text, arrays are lists, integers are {@link Long}, other numbers {@link Double}.
 */
public final class Json {
    private static final int DEEPEST_HEADER = 3;
    private static final int DEEPEST = 64;
    /** Numbers with this number of digits always fit a long. */
    private static final int LONG_DIGITS = 18;

    private static final char REPLACEMENT = '\ufffd';

    private final String source;
    private final String text;
    private final boolean header;
    /** Whether numbers that are not a long keep all their digits. */
    private final boolean exact;

    private int at;

    private Json(String source, String text, boolean header, boolean exact) {
        this.source = source;
        this.text = text;
        this.header = header;
        this.exact = exact;
    }

    /**
     * Reads a safetensors header: an object of objects, arrays of integers, strings and non-negative integers, not deeper than such a
     * header needs.
     */
    public static Map<String, @Nullable Object> header(byte[] utf8) {
        return read("header", utf8, true);
    }

    /** Reads an object with members of any kind; {@code source} is the object's name in messages. */
    public static Map<String, @Nullable Object> object(String source, byte[] utf8) {
        return read(source, utf8, false);
    }

    private static Map<String, @Nullable Object> read(String source, byte[] utf8, boolean header) {
        Json json = new Json(source, decode(source, utf8), header, false);
        json.space();
        Map<String, @Nullable Object> result = json.object(1);
        json.end();
        return result;
    }

    public static List<@Nullable Object> array(String source, byte[] utf8) {
        Json json = new Json(source, decode(source, utf8), false, false);
        json.space();
        List<@Nullable Object> result = json.array(1);
        json.end();
        return result;
    }

    /** Reads a value of any kind, in which numbers other than {@link Long} are {@link BigDecimal}. */
    public static @Nullable Object exact(String source, byte[] utf8) {
        Json json = new Json(source, decode(source, utf8), false, true);
        json.space();
        Object result = json.value(1);
        json.end();
        return result;
    }

    private static String decode(String source, byte[] utf8) {
        // this constructor is fast even before it is compiled; malformed bytes become the replacement character, which
        // a text may also
        // contain
        String text = new String(utf8, StandardCharsets.UTF_8);
        if (text.indexOf(REPLACEMENT) < 0) {
            return text;
        }
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(utf8))
                    .toString();
        } catch (CharacterCodingException malformed) {
            throw new IllegalArgumentException(source + ": not UTF-8; expected JSON", malformed);
        }
    }

    private void end() {
        space();
        if (at != text.length()) {
            throw fail("the end of the " + source);
        }
    }

    private @Nullable Object value(int depth) {
        if (depth > (header ? DEEPEST_HEADER : DEEPEST)) {
            throw fail("no deeper nesting");
        }
        char next = peek();
        if (next == '{') {
            return object(depth);
        }
        if (next == '[') {
            return array(depth);
        }
        if (next == '"') {
            return string();
        }
        return header ? integer() : scalar(next);
    }

    private @Nullable Object scalar(char next) {
        return switch (next) {
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private @Nullable Object word(String word, @Nullable Object value) {
        if (!text.startsWith(word, at)) {
            throw fail(word);
        }
        at += word.length();
        return value;
    }

    private Map<String, @Nullable Object> object(int depth) {
        Map<String, @Nullable Object> result = new LinkedHashMap<>();
        expect('{');
        space();
        if (peek() == '}') {
            at++;
            return result;
        }
        while (true) {
            space();
            String name = string();
            space();
            expect(':');
            space();
            if (result.containsKey(name)) {
                throw Checks.fail(source, "\"" + name + "\" used twice", "expected unique names");
            }
            result.put(name, value(depth + 1));
            space();
            if (peek() == '}') {
                at++;
                return result;
            }
            expect(',');
        }
    }

    private List<@Nullable Object> array(int depth) {
        List<@Nullable Object> result = new ArrayList<>();
        expect('[');
        space();
        if (peek() == ']') {
            at++;
            return result;
        }
        while (true) {
            space();
            result.add(header ? integer() : value(depth + 1));
            space();
            if (peek() == ']') {
                at++;
                return result;
            }
            expect(',');
        }
    }

    /** Returns a number of JSON's grammar; a number with a fraction, an exponent or too many digits is a double. */
    private Object number() {
        int start = at;
        at += peek() == '-' ? 1 : 0;
        int first = at;
        digits(start);
        if (at - first > 1 && text.charAt(first) == '0') {
            at = start;
            throw fail("a value");
        }
        char next = at < text.length() ? text.charAt(at) : ' ';
        boolean whole = next != '.' && next != 'e' && next != 'E';
        return whole && at - first <= LONG_DIGITS ? (Object) whole(start, first) : (Object) fractional(start);
    }

    /** Returns the value of the digits from {@code first} on: a vocabulary has 30,000 of them, and is read before code is compiled. */
    private Long whole(int start, int first) {
        long value = 0;
        for (int i = first; i < at; i++) {
            value = 10 * value + text.charAt(i) - '0';
        }
        return first > start ? -value : value;
    }

    private Number fractional(int start) {
        if (at < text.length() && text.charAt(at) == '.') {
            at++;
            digits(start);
        }
        if (at < text.length() && (text.charAt(at) == 'e' || text.charAt(at) == 'E')) {
            at++;
            at += peek() == '-' || peek() == '+' ? 1 : 0;
            digits(start);
        }
        String digits = text.substring(start, at);
        return exact ? (Number) new BigDecimal(digits) : (Number) Double.valueOf(digits);
    }

    private void digits(int start) {
        int first = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == first) {
            at = start;
            throw fail("a value");
        }
    }

    private Long integer() {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        boolean padded = at - start > 1 && text.charAt(start) == '0';
        if (at == start || padded) {
            at = start;
            throw fail("a non-negative integer");
        }
        try {
            return Long.valueOf(text.substring(start, at));
        } catch (NumberFormatException overflow) {
            at = start;
            throw fail("an integer below 2^63");
        }
    }

    /** Returns a string: most strings are an unchanged part of the text, and a string with escapes is assembled. */
    private String string() {
        expect('"');
        for (int end = at; end < text.length(); end++) {
            char c = text.charAt(end);
            if (c == '"') {
                String result = text.substring(at, end);
                at = end + 1;
                return result;
            }
            if (c < ' ' || c == '\\' || Character.isSurrogate(c)) {
                break;
            }
        }
        return assembled();
    }

    private String assembled() {
        StringBuilder result = new StringBuilder();
        while (true) {
            char c = peek();
            at++;
            if (c == '"') {
                if (unpaired(result)) {
                    throw fail("surrogates in pairs");
                }
                return result.toString();
            }
            if (c < ' ') {
                at--;
                throw fail("no control character in a string");
            }
            result.append(c == '\\' ? escaped() : c);
        }
    }

    /** Returns whether {@code text} has an unpaired surrogate, which UTF-8 cannot hold. */
    public static boolean unpaired(CharSequence text) {
        // this is not a stream of code points, since vocabularies have hundreds of thousands of texts, and this code is
        // among the first
        // that runs
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i))) {
                boolean paired = i + 1 < text.length() && Character.isSurrogatePair(text.charAt(i), text.charAt(i + 1));
                if (!paired) {
                    return true;
                }
                i++;
            }
        }
        return false;
    }

    private char escaped() {
        char c = peek();
        at++;
        return switch (c) {
            case '"', '\\', '/' -> c;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> unicode();
            default -> {
                at--;
                throw fail("an escape of JSON");
            }
        };
    }

    private char unicode() {
        int value = 0;
        for (int i = 0; i < 4; i++) {
            int digit = Character.digit(peek(), 16);
            if (digit < 0 || peek() > 'f') {
                throw fail("four hexadecimal digits");
            }
            value = 16 * value + digit;
            at++;
        }
        return (char) value;
    }

    private void space() {
        while (at < text.length() && isSpace(text.charAt(at))) {
            at++;
        }
    }

    private static boolean isSpace(char c) {
        return c == ' ' || c == '\n' || c == '\r' || c == '\t';
    }

    private char peek() {
        if (at >= text.length()) {
            throw fail("more, not the end");
        }
        return text.charAt(at);
    }

    private void expect(char wanted) {
        if (peek() != wanted) {
            throw fail("'" + wanted + "'");
        }
        at++;
    }

    private IllegalArgumentException fail(String wanted) {
        return new IllegalArgumentException(source + ": malformed at character " + at + "; expected " + wanted);
    }
}
