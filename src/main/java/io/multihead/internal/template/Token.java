package io.multihead.internal.template;

/**
 * A part of a template's source.
 *
 * @param kind its kind
 * @param text its characters; for a string, its value
 * @param line the line where it begins, from 1
 */
record Token(Kind kind, String text, int line) {
    /** Kinds of tokens. */
    enum Kind {
        /** Text outside tags. */
        TEXT,
        /** The start of a tag with a statement. */
        STATEMENT_BEGIN,
        /** Its end. */
        STATEMENT_END,
        /** The start of a tag with an expression that is printed. */
        PRINT_BEGIN,
        /** Its end. */
        PRINT_END,
        NAME,
        STRING,
        INTEGER,
        FLOAT,
        OPERATOR,
        /** The end of the source. */
        END
    }

    boolean is(Kind expected, String expectedText) {
        return kind == expected && text.equals(expectedText);
    }

    /** Returns the name of the token in messages. */
    String described() {
        return switch (kind) {
            case END -> "the end of the template";
            case TEXT -> "text";
            case STATEMENT_BEGIN, STATEMENT_END, PRINT_BEGIN, PRINT_END, NAME, OPERATOR, INTEGER, FLOAT -> text;
            case STRING -> "\"" + text + "\"";
        };
    }
}
