package io.multihead.internal.template;

import io.multihead.internal.template.Token.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Divides a template into tokens like Jinja's lexer with {@code trim_blocks} and {@code lstrip_blocks}: it drops the line feed after a
 * statement or a comment, and blanks between the start of a line and a statement or comment; {@code -} drops all white space next to a tag,
 * and {@code +} drops none.
 */
final class Lexer {
    private static final Pattern RAW_BEGIN = Pattern.compile("\\{%([-+]?)\\s*raw\\s*(-%}\\s*|\\+%}|%}\\n?)");
    private static final Pattern RAW_END = Pattern.compile("\\{%([-+]?)\\s*endraw\\s*(-%}\\s*|\\+%}|%}\\n?)");
    private static final Pattern NAME = Pattern.compile("[\\p{L}_][\\p{L}\\p{N}_]*");
    private static final Pattern NUMBER =
            Pattern.compile("\\d+(?:_\\d+)*(\\.\\d+(?:_\\d+)*)?([eE][+-]?\\d+)?(?![\\p{L}\\p{N}_])");
    private static final List<String> OPERATORS = List.of(
            "**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", ">", "<", "=", "(", ")", "[", "]", "{",
            "}", ",", ":", ".", "|");

    private final String source;
    private final List<Token> tokens = new ArrayList<>();
    private int at;
    private int line = 1;
    private int counted;
    /** Whether the next character begins a line. */
    private boolean beginsLine = true;

    private Lexer(String source) {
        String text = source.replace("\r\n", "\n").replace('\r', '\n');
        this.source = text.endsWith("\n") ? text.substring(0, text.length() - 1) : text;
    }

    /** Returns all tokens, the last of which is {@link Kind#END}. */
    static List<Token> tokens(String source) {
        Lexer lexer = new Lexer(source);
        lexer.run();
        return lexer.tokens;
    }

    private void run() {
        while (at < source.length()) {
            int tag = nextTag(at);
            if (tag < 0) {
                add(Kind.TEXT, source.substring(at), at);
                break;
            }
            char kind = source.charAt(tag + 1);
            char sign = tag + 2 < source.length() ? source.charAt(tag + 2) : ' ';
            addText(at, tag, sign, kind != '{');
            at = tag;
            switch (kind) {
                case '#' -> comment();
                case '%' -> statement(sign);
                default -> print(sign);
            }
        }
        add(Kind.END, "", source.length());
    }

    private int nextTag(int from) {
        for (int i = source.indexOf('{', from); i >= 0 && i + 1 < source.length(); i = source.indexOf('{', i + 1)) {
            if ("{%#".indexOf(source.charAt(i + 1)) >= 0) {
                return i;
            }
        }
        return -1;
    }

    /** Adds the text before a tag without the white space that the tag drops. */
    private void addText(int from, int to, char sign, boolean block) {
        int end = to;
        if (sign == '-') {
            while (end > from && Python.isSpace(source.charAt(end - 1))) {
                end--;
            }
        } else if (sign != '+' && block) {
            int start = Math.max(from, source.lastIndexOf('\n', to - 1) + 1);
            if ((start > from || beginsLine) && source.substring(start, to).isBlank()) {
                end = start;
            }
        }
        if (end > from) {
            add(Kind.TEXT, source.substring(from, end), from);
        }
    }

    private void comment() {
        int end = source.indexOf("#}", at + 2);
        if (end < 0) {
            throw new Fault("a comment without #}").at(lineOf(at));
        }
        boolean plain = source.charAt(end - 1) != '-' && source.charAt(end - 1) != '+' || end == at + 2;
        boolean all = !plain && source.charAt(end - 1) == '-';
        leave(end + 2, all, plain);
    }

    private void statement(char sign) {
        Matcher raw = RAW_BEGIN.matcher(source).region(at, source.length());
        if (raw.lookingAt()) {
            raw(raw.end());
            return;
        }
        add(Kind.STATEMENT_BEGIN, "{%", at);
        at += sign == '-' || sign == '+' ? 3 : 2;
        inside("%}", Kind.STATEMENT_END);
    }

    private void raw(int from) {
        Matcher end = RAW_END.matcher(source);
        if (!end.find(from)) {
            throw new Fault("raw without endraw").at(lineOf(at));
        }
        beginsLine = source.charAt(from - 1) == '\n';
        addText(from, end.start(), end.group(1).isEmpty() ? ' ' : end.group(1).charAt(0), true);
        at = end.end();
        beginsLine = source.charAt(at - 1) == '\n';
    }

    private void print(char sign) {
        add(Kind.PRINT_BEGIN, "{{", at);
        at += sign == '-' || sign == '+' ? 3 : 2;
        inside("}}", Kind.PRINT_END);
    }

    /** Continues after a tag, and drops all white space, or one line feed. */
    private void leave(int from, boolean all, boolean lineFeed) {
        at = from;
        while (all && at < source.length() && Python.isSpace(source.charAt(at))) {
            at++;
        }
        if (!all && lineFeed && at < source.length() && source.charAt(at) == '\n') {
            at++;
        }
        beginsLine = source.charAt(at - 1) == '\n';
    }

    /** Reads tokens up to the end of a tag; an open brace hides an end. */
    private void inside(String close, Kind end) {
        int begin = at;
        int braces = 0;
        while (at < source.length()) {
            char c = source.charAt(at);
            boolean signed = (c == '-' || c == '+' && end == Kind.STATEMENT_END) && source.startsWith(close, at + 1);
            if (braces == 0 && (signed || source.startsWith(close, at))) {
                add(end, close, at);
                leave(at + (signed ? 3 : 2), c == '-', c != '+' && end == Kind.STATEMENT_END);
                return;
            }
            if (Python.isSpace(c)) {
                at++;
            } else if (c == '"' || c == '\'') {
                string(c);
            } else {
                braces += "([{".indexOf(c) >= 0 ? 1 : ")]}".indexOf(c) >= 0 ? -1 : 0;
                word();
            }
        }
        throw new Fault("a tag without " + close).at(lineOf(begin));
    }

    private void word() {
        Matcher name = NAME.matcher(source).region(at, source.length());
        if (name.lookingAt()) {
            add(Kind.NAME, name.group(), at);
            at = name.end();
            return;
        }
        Matcher number = NUMBER.matcher(source).region(at, source.length());
        if (number.lookingAt()) {
            boolean whole = number.group(1) == null && number.group(2) == null;
            add(whole ? Kind.INTEGER : Kind.FLOAT, number.group().replace("_", ""), at);
            at = number.end();
            return;
        }
        for (String operator : OPERATORS) {
            if (source.startsWith(operator, at)) {
                add(Kind.OPERATOR, operator, at);
                at += operator.length();
                return;
            }
        }
        throw new Fault("\"" + source.charAt(at) + "\" in a tag; expected an expression").at(lineOf(at));
    }

    private void string(char quote) {
        int start = at;
        StringBuilder text = new StringBuilder();
        for (int i = at + 1; i < source.length(); i++) {
            char c = source.charAt(i);
            if (c == quote) {
                add(Kind.STRING, text.toString(), start);
                at = i + 1;
                return;
            }
            if (c == '\\' && i + 1 < source.length()) {
                i = escape(i + 1, text);
            } else {
                text.append(c);
            }
        }
        throw new Fault("a string without its end").at(lineOf(start));
    }

    /** Appends the meaning of an escape of Python's strings, and returns the index of its last character. */
    private int escape(int index, StringBuilder to) {
        char c = source.charAt(index);
        int simple = "abfnrtv\\'\"".indexOf(c);
        if (simple >= 0) {
            to.append("\u0007\b\f\n\r\t\u000b\\'\"".charAt(simple));
            return index;
        }
        int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        if (digits > 0) {
            int end = index + 1 + digits;
            if (end > source.length() || !source.substring(index + 1, end).matches("[0-9A-Fa-f]+")) {
                throw new Fault("\\" + c + "; expected " + digits + " hexadecimal digits").at(lineOf(index));
            }
            long value = Long.parseLong(source.substring(index + 1, end), 16);
            if (value > Character.MAX_CODE_POINT) {
                throw new Fault("\\" + c + "; expected a code point").at(lineOf(index));
            }
            to.appendCodePoint((int) value);
            return end - 1;
        }
        if (c == 'N' || c >= '0' && c <= '7') {
            throw new Fault("escape \\" + c + " is not implemented").at(lineOf(index));
        }
        if (c != '\n') { // a backslash before a line feed continues the line
            to.append('\\').append(c);
        }
        return index;
    }

    private void add(Kind kind, String text, int place) {
        tokens.add(new Token(kind, text, lineOf(place)));
    }

    /** Returns the line of a place; places must be requested in order. */
    private int lineOf(int place) {
        for (; counted < place; counted++) {
            line += source.charAt(counted) == '\n' ? 1 : 0;
        }
        return line;
    }
}
