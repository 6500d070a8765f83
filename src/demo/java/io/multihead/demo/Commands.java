package io.multihead.demo;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * Errors of the command lines of this package. A message names the wrong option or the failure, and is printed without
 * the usage, which would hide it.
 */
public final class Commands {
    /** The beginning of the library's errors that name an argument. */
    private static final Pattern ARGUMENT = Pattern.compile("([a-z][A-Za-z]*)(\\[\\d+\\])?: ");

    private Commands() {}

    /** Returns a program with exit code 1 for a failure and 2 for wrong options. */
    public static CommandLine of(Object command) {
        return new CommandLine(command)
                .setParameterExceptionHandler((wrong, arguments) -> wrong(wrong))
                .setExecutionExceptionHandler((failure, line, result) -> {
                    line.getErr().println(line.getCommandName() + ": " + message(line, failure));
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

    /**
     * Returns the value of options.
     *
     * @throws ParameterException if the library refuses an argument; it names the option
     */
    public static <T> T option(CommandLine line, Supplier<T> value) {
        try {
            return value.get();
        } catch (IllegalArgumentException wrong) {
            throw new ParameterException(line, message(line, wrong), wrong);
        }
    }

    /** Returns the message of a failure, with the name of the option instead of the library's name of the argument. */
    static String message(CommandLine line, Throwable failure) {
        String message = String.valueOf(failure.getMessage());
        if (!(failure instanceof IllegalArgumentException)) {
            return failure.getClass().getSimpleName() + ": " + message;
        }
        Matcher argument = ARGUMENT.matcher(message);
        return argument.lookingAt() ? option(line, argument.group(1)) + message.substring(argument.end(1)) : message;
    }

    /**
     * Returns the option with the name of an argument, or the only option that begins with this name or with which this
     * name begins. Without such an option, returns the argument.
     */
    private static String option(CommandLine line, String argument) {
        String name = "--" + argument.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
        Set<String> all = line.getCommandSpec().optionsMap().keySet();
        if (all.contains(name)) {
            return name;
        }
        List<String> alike = all.stream()
                .filter(each -> each.startsWith("--") && (each.startsWith(name + "-") || name.startsWith(each)))
                .toList();
        return alike.size() == 1 ? alike.get(0) : argument;
    }
}
