package io.multihead.format;

import io.multihead.internal.Checks;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A strict JSON reader for safetensors headers: objects, arrays, strings and non-negative integers, no deeper than a header
 * needs. Everything else is an {@link IllegalArgumentException} that says where.
 */
final class HeaderParser {
    private static final int DEEPEST = 3;

    private final String text;
    private int at;

    private HeaderParser(String text) {
        this.text = text;
    }

    /** The header as nested maps, lists, strings and longs. */
    static Map<String, Object> parse(byte[] utf8) {
        String text;
        try {
            text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(utf8))
                    .toString();
        } catch (CharacterCodingException malformed) {
            throw new IllegalArgumentException("header: not UTF-8; expected a JSON object", malformed);
        }
        HeaderParser parser = new HeaderParser(text);
        parser.space();
        Map<String, Object> header = parser.object(1);
        parser.space();
        if (parser.at != text.length()) {
            throw parser.fail("the end of the header");
        }
        return header;
    }

    private Object value(int depth) {
        if (depth > DEEPEST) {
            throw fail("no deeper nesting");
        }
        char next = peek();
        if (next == '{') {
            return object(depth);
        }
        if (next == '[') {
            return array();
        }
        return next == '"' ? string() : number();
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> result = new LinkedHashMap<>();
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
            if (result.put(name, value(depth + 1)) != null) {
                throw Checks.fail("header", "\"" + name + "\" stands twice", "expected unique names");
            }
            space();
            if (peek() == '}') {
                at++;
                return result;
            }
            expect(',');
        }
    }

    private List<Long> array() {
        List<Long> result = new ArrayList<>();
        expect('[');
        space();
        if (peek() == ']') {
            at++;
            return result;
        }
        while (true) {
            space();
            result.add(number());
            space();
            if (peek() == ']') {
                at++;
                return result;
            }
            expect(',');
        }
    }

    private Long number() {
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

    private String string() {
        expect('"');
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

    /** Whether half a character stands in {@code text}, which UTF-8 cannot hold. */
    static boolean unpaired(CharSequence text) {
        return text.codePoints().anyMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE);
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
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
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
        return new IllegalArgumentException("header: malformed at character " + at + "; expected " + wanted);
    }
}
