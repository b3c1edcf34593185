// What every browser test uses. A test file calls check() for each case and
// run() at its end; run prints one line of JSON for each, which
// browser_test.go turns into Go tests.
//
// From the environment: CHROMIUM (the program), SHOTS (a folder for
// screenshots, "" for none), SERVERS (JSON: the addresses of the servers, by
// name).
import { chromium } from "playwright-core";

const cases = [];

// check adds a case. body gets a page of a new browser profile, and a function
// that makes a screenshot. options are those of a profile, such as
// javaScriptEnabled or viewport.
export function check(name, options, body) {
  cases.push({ name, options, body });
}

export const servers = JSON.parse(process.env.SERVERS);

export function equal(got, want, what) {
  if (got !== want) throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

export async function run() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    chromiumSandbox: false,
    args: [
      "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
      // *.test is this machine: to the browser it is another one, without TLS.
      "--host-resolver-rules=MAP *.test 127.0.0.1",
    ],
  });
  for (const { name, options, body } of cases) {
    const context = await browser.newContext({ viewport: { width: 1000, height: 700 }, ...options });
    context.setDefaultTimeout(15_000);
    const page = await context.newPage();
    const complaints = [];
    page.on("console", (m) => m.type() === "error" && /Content.Security.Policy/i.test(m.text()) && complaints.push(m.text()));
    const shot = async (file) => {
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${file}.png` });
    };
    const result = { name };
    try {
      await body(page, shot, context);
      if (complaints.length > 0) throw new Error("the page breaks its own policy: " + complaints.join("\n"));
    } catch (e) {
      result.error = `${e.stack}\nat ${page.url()}`;
      await shot(`failed-${name.replaceAll(/\W+/g, "-")}`).catch(() => {});
    }
    console.log(JSON.stringify(result));
    await context.close();
  }
  await browser.close();
}
