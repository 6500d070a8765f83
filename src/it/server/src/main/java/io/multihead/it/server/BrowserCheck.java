package io.multihead.it.server;

import io.multihead.decoder.FamilyModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.support.ui.WebDriverWait;

/**
 * Uses the page of a server like a person, in Debian's Chromium: types, reads, stops, points at tokens, and requests
 * JSON, with light and dark colors.
 */
public final class BrowserCheck {
    private static final Path BROWSER = Path.of("/usr/bin/chromium");
    private static final Path DRIVER = Path.of("/usr/bin/chromedriver");
    private static final Path PICTURES = Path.of("target/pictures");

    private final ChromeDriver browser;
    private final WebDriverWait wait;

    private BrowserCheck(ChromeDriver browser) {
        this.browser = browser;
        wait = new WebDriverWait(browser, Duration.ofSeconds(30));
    }

    /** Runs all checks, or reports that no browser is installed. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        if (!Files.isExecutable(BROWSER) || !Files.isExecutable(DRIVER)) {
            System.out.println("skipped: the page in a browser; expected " + BROWSER + " and " + DRIVER
                    + ", of Debian's chromium and chromium-driver");
            return;
        }
        Files.createDirectories(PICTURES);
        ChromeOptions options = new ChromeOptions();
        options.setBinary(BROWSER.toFile());
        options.addArguments("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,860");
        ChromeDriverService service = new ChromeDriverService.Builder()
                .usingDriverExecutable(DRIVER.toFile())
                .build();
        ChromeDriver browser = new ChromeDriver(service, options);
        try {
            BrowserCheck check = new BrowserCheck(browser);
            Path file = Files.createTempDirectory("page").resolve("small.gguf");
            FamilyModel.writeChat(file, FamilyModel.TOOL_TEMPLATE, 1024);
            try (ServerProcess server = ServerProcess.start(file)) {
                check.chat(server);
            } finally {
                Files.delete(file);
                Files.delete(file.getParent());
            }
            if (arguments.length > 0) {
                try (ServerProcess server = ServerProcess.start(Path.of(arguments[0]))) {
                    check.story(server.page());
                }
            }
        } finally {
            browser.quit();
        }
    }

    private WebElement at(String css) {
        return browser.findElement(By.cssSelector(css));
    }

    private List<WebElement> all(String css) {
        return browser.findElements(By.cssSelector(css));
    }

    private void put(String css, String text) {
        at(css).clear();
        at(css).sendKeys(text);
    }

    private void picture(String name) throws IOException {
        Files.write(PICTURES.resolve(name + ".png"), browser.getScreenshotAs(OutputType.BYTES));
    }

    private void open(String page) {
        browser.get(page);
        wait.until(any -> !at("#model").getText().isEmpty());
    }

    private void send(String text) {
        put("#text", text);
        at("#text").sendKeys(Keys.ENTER);
    }

    private void awaitAnswers(int count) {
        wait.until(any -> at("#send").isEnabled() && all(".turn.assistant").size() == count);
    }

    private void scheme(String name) {
        browser.executeCdpCommand(
                "Emulation.setEmulatedMedia",
                Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", name))));
    }

    private void width(int pixels, int height) {
        browser.executeCdpCommand(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", pixels, "height", height, "deviceScaleFactor", 1, "mobile", false));
    }

    /** Types, reads, stops, and requests JSON, and then ends the server. */
    private void chat(ServerProcess server) throws IOException, InterruptedException {
        open(server.page());
        require(at("#hint").isDisplayed(), "the page says how to begin");
        at("#settings summary").click();
        put("#seed", "5");
        put("#max_tokens", "40");
        put("#system", "Be brief.");
        send("ab");
        awaitAnswers(1);
        require(at("#error").getText().isEmpty(), "no error: " + at("#error").getText());
        String first = at(".turn.assistant .content").getText();
        List<WebElement> tokens = all(".turn.assistant .token");
        require(tokens.size() > 3, "an answer has tokens: " + tokens.size());
        require(
                at("#speed").getText().matches("(?s).*\\d+ tokens.*"),
                "and a speed: " + at("#speed").getText());

        tokens.get(2).click();
        wait.until(any -> at("#choices").isDisplayed());
        require(all("#choice-rows tr").size() >= 8, "a click shows what else there was");
        at("#close").sendKeys(Keys.ESCAPE);
        require(!at("#choices").isDisplayed(), "Escape closes it");
        require(browser.switchTo().activeElement().equals(tokens.get(2)), "and the token has the focus again");
        browser.switchTo().activeElement().sendKeys(Keys.ARROW_RIGHT);
        require(browser.switchTo().activeElement().equals(tokens.get(3)), "arrows move");
        wait.until(any -> at("#attention").isDisplayed());

        at("#new").click();
        require(all(".turn").isEmpty(), "a new conversation is empty");
        send("ab");
        awaitAnswers(1);
        require(at(".turn.assistant .content").getText().equals(first), "a seed has the same text again");

        schemas();
        stops();

        server.stop();
        send("closed");
        wait.until(any -> at("#error").getText().equals("The server does not answer."));
        require(true, "a server that has gone is an error");
    }

    private void schemas() {
        put(
                "#schema",
                "{\"type\": \"object\", \"properties\": {\"a\": {\"enum\": [1, 2]}}, \"required\": [\"a\"],"
                        + " \"additionalProperties\": false}");
        send("json");
        awaitAnswers(2);
        String json = all(".turn.assistant .content").get(1).getText().replaceAll("\\s|<[^>]*>", "");
        require(json.matches("\\{\"a\":[12]\\}"), "a schema is kept: " + json);
        put("#schema", "{");
        send("json");
        wait.until(any -> at("#error").getText().startsWith("The schema is not JSON"));
        require(all(".turn").size() == 4, "and one that is malformed is not sent");
        put("#schema", "{\"type\": \"object\", \"not\": {}}");
        at("#text").sendKeys(Keys.ENTER);
        wait.until(any -> at("#error").getText().contains("response_format"));
        require(at("#text").getAttribute("value").equals("json"), "a message that was refused may be sent again");
        put("#schema", "");
    }

    private void stops() {
        put("#max_tokens", "900");
        at("#new").click();
        send("long");
        wait.until(any -> all(".turn.assistant .token").size() > 5);
        at("#stop").click();
        awaitAnswers(1);
        int stopped = all(".turn.assistant .token").size();
        require(stopped < 890, "stop ends an answer: " + stopped + " tokens");
        send("more");
        wait.until(any -> all(".turn.assistant .token").size() > stopped);
        at("#stop").click();
        awaitAnswers(2);
    }

    /**
     * Lets a published model continue a text, and reads its heads, with light and dark colors, in wide and narrow
     * windows.
     */
    private void story(String page) throws IOException {
        open(page);
        at("#settings summary").click();
        put("#seed", "7");
        put("#max_tokens", "60");
        at("#settings summary").click();
        send("Once upon a time, Lily and Tom");
        awaitAnswers(1);
        List<WebElement> tokens = all(".turn.assistant .token");
        new Actions(browser).moveToElement(tokens.get(tokens.size() / 2)).perform();
        wait.until(any -> at("#attention").isDisplayed());
        require(all("#heads button").size() == 9, "an average and eight heads");
        all("#heads button").get(4).click();
        require(at("#large-title").getText().contains("head 3"), "a click enlarges a head");
        at("#heads button:nth-child(5)").sendKeys(Keys.ARROW_RIGHT);
        require(at("#large-title").getText().contains("head 4"), "arrows choose the next");
        at("#layer").sendKeys(Keys.ARROW_DOWN);
        wait.until(any -> at("#large-title").getText().contains("layer 1"));
        all("#shaded span").get(6).click();
        wait.until(any -> at("#large-title").getText().contains("at 6"));
        tokens.get(tokens.size() / 2).click();
        wait.until(any -> !at("#large-title").getText().contains("at 6,"));
        for (String scheme : List.of("light", "dark")) {
            scheme(scheme);
            width(1280, 860);
            picture("wide-" + scheme);
            width(390, 844);
            Object over = browser.executeScript("return document.documentElement.scrollWidth - innerWidth");
            require(((Number) over).intValue() <= 0, "nothing is wider than a narrow window: " + over);
            picture("narrow-" + scheme);
            browser.executeScript("document.getElementById('side').scrollIntoView()");
            picture("narrow-side-" + scheme);
            browser.executeScript("scrollTo(0, 0)");
        }
        scheme("light");
        width(1140, 700);
        Object webp = browser.executeCdpCommand("Page.captureScreenshot", Map.of("format", "webp", "quality", 70))
                .get("data");
        Files.write(PICTURES.resolve("page.webp"), Base64.getDecoder().decode((String) webp));
        width(1280, 860);
        at("#close").sendKeys(Keys.ESCAPE);
        at("#settings summary").click();
        picture("settings");
    }

    private static void require(boolean holds, String what) {
        Check.require(holds, "page: " + what);
    }
}
