package io.multihead.internal.template;

import io.multihead.internal.template.Token.Kind;
import java.util.List;
import java.util.Set;

/** Reads tokens one by one. */
final class TokenReader {
    private final List<Token> tokens;
    private int at;

    TokenReader(List<Token> tokens) {
        this.tokens = tokens;
    }

    Token peek() {
        return tokens.get(at);
    }

    int line() {
        return peek().line();
    }

    Token next() {
        Token token = tokens.get(at);
        at += token.kind() == Kind.END ? 0 : 1;
        return token;
    }

    boolean isKind(Kind kind) {
        return peek().kind() == kind;
    }

    boolean isName(String name) {
        return peek().is(Kind.NAME, name);
    }

    boolean isOperator(String operator) {
        return peek().is(Kind.OPERATOR, operator);
    }

    private Token after() {
        return tokens.get(Math.min(at + 1, tokens.size() - 1));
    }

    boolean isNameAfter(String name) {
        return after().is(Kind.NAME, name);
    }

    boolean isOperatorAfter(String operator) {
        return after().is(Kind.OPERATOR, operator);
    }

    /** Returns the text of the next token if it is an operator, otherwise an empty string. */
    String operator() {
        return isKind(Kind.OPERATOR) ? peek().text() : "";
    }

    boolean skip(String operator) {
        boolean found = isOperator(operator);
        at += found ? 1 : 0;
        return found;
    }

    boolean skipName(String name) {
        boolean found = isName(name);
        at += found ? 1 : 0;
        return found;
    }

    void expect(String operator) {
        if (!skip(operator)) {
            throw fail(peek().described() + "; expected \"" + operator + "\"");
        }
    }

    void expectName(String name) {
        if (!skipName(name)) {
            throw fail(peek().described() + "; expected \"" + name + "\"");
        }
    }

    void expect(Kind kind, String what) {
        if (!isKind(kind)) {
            throw fail(peek().described() + "; expected " + what);
        }
        next();
    }

    String name() {
        if (!isKind(Kind.NAME)) {
            throw fail(peek().described() + "; expected a name");
        }
        return next().text();
    }

    /** Returns whether no further element of a tuple follows. */
    boolean endsTuple() {
        return isKind(Kind.STATEMENT_END)
                || isKind(Kind.PRINT_END)
                || isOperator(")")
                || isOperator("]")
                || isName("in");
    }

    /** Returns whether the argument of a test follows, without parentheses. */
    boolean beginsArgument() {
        return switch (peek().kind()) {
            case NAME -> !Set.of("else", "or", "and", "is", "if", "not", "in").contains(peek().text());
            case STRING, INTEGER, FLOAT -> true;
            case OPERATOR -> isOperator("[") || isOperator("{");
            default -> false;
        };
    }

    IllegalArgumentException fail(String what) {
        return new Fault(what).at(line());
    }
}
