package io.multihead.demo;

import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * Errors of the command lines of this package: a message that names the wrong option or the failure, without the usage, below which it would
 * be missed.
 */
final class Commands {
    private Commands() {}

    /** Returns a program that ends with 1 when it failed, and with 2 when the options were wrong. */
    static CommandLine of(Object command) {
        return new CommandLine(command)
                .setParameterExceptionHandler((wrong, arguments) -> wrong(wrong))
                .setExecutionExceptionHandler((failure, line, result) -> {
                    line.getErr().println(line.getCommandName() + ": " + message(failure));
                    return line.getCommandSpec().exitCodeOnExecutionException();
                });
    }

    private static int wrong(ParameterException wrong) {
        CommandLine line = wrong.getCommandLine();
        line.getErr().println(wrong.getMessage());
        UnmatchedArgumentException.printSuggestions(wrong, line.getErr());
        line.getErr().println("--help lists the options");
        line.getErr().flush();
        return line.getCommandSpec().exitCodeOnInvalidInput();
    }

    private static String message(Throwable failure) {
        String kind = failure instanceof IllegalArgumentException
                ? ""
                : failure.getClass().getSimpleName() + ": ";
        return kind + failure.getMessage();
    }
}
