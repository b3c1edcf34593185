// The consent page of /oauth2/grant, as people meet it. The client is a program
// on this machine: any port of 127.0.0.1 will do for its redirect URI, so the
// server itself stands for it.
import { createHash } from "node:crypto";
import { check, equal, run, servers } from "./harness.mjs";

const { main } = servers;
const challenge = createHash("sha256").update("v".repeat(43)).digest("base64url");

const ask = (more = {}) =>
  main + "/oauth2/grant?" + new URLSearchParams({
    client_id: "native", response_type: "code", state: "a b&<c>", redirect_uri: main + "/livez",
    code_challenge: challenge, code_challenge_method: "S256", ...more,
  });

async function signIn(page) {
  await page.getByLabel("User name").fill("admin");
  await page.getByLabel("Password").fill("correct-horse");
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function signedIn(page) {
  await page.goto(main + "/auth");
  await signIn(page);
  await page.getByText("You are signed in as").waitFor();
}

// came waits for the client's page and returns what it was told.
async function came(page) {
  await page.waitForURL(main + "/livez?*");
  return new URL(page.url()).searchParams;
}

check("grants", {}, async (page, shot) => {
  await signedIn(page);
  await page.goto(ask({ scope: "crud:read echo" }));
  await shot("consent");
  equal(await page.title(), "Grant access?", "title");
  await page.getByText("A tool of <b>ours</b> asks to act for you, admin@local.").waitFor();
  equal(await page.getByRole("listitem").count(), 2, "what it asks for");
  await page.getByText("read what you may read, through the service “crud”").waitFor();
  await page.getByText("takes you to " + main).waitFor();
  await page.getByRole("button", { name: "Grant" }).click();
  const told = await came(page);
  equal(told.get("state"), "a b&<c>", "state");
  equal(/^[0-9a-f]{40}$/.test(told.get("code")), true, "the code");
});

check("denies", {}, async (page) => {
  await signedIn(page);
  await page.goto(ask());
  await page.getByRole("button", { name: "Deny" }).click();
  const told = await came(page);
  equal(told.get("error"), "access_denied", "error");
  equal(told.get("state"), "a b&<c>", "state");
  equal(told.has("code"), false, "a code");
});

check("signs in on the way, without JavaScript", { javaScriptEnabled: false }, async (page) => {
  await page.goto(ask());
  await signIn(page);
  await page.getByRole("heading", { name: "Grant access?" }).waitFor();
  await page.getByRole("button", { name: "Grant" }).click();
  equal((await came(page)).get("state"), "a b&<c>", "state");
});

check("a session that has ended", {}, async (page, shot, context) => {
  await signedIn(page);
  await page.goto(ask());
  await context.clearCookies();
  await page.getByRole("button", { name: "Grant" }).click();
  await signIn(page);
  await page.getByRole("heading", { name: "Grant access?" }).waitFor(); // it is asked again
  await page.getByRole("button", { name: "Deny" }).click();
  equal((await came(page)).get("error"), "access_denied", "error");
});

for (const [name, tabs] of [["Grant", 1], ["Deny", 2]]) {
  check(`keyboard only: ${name}`, {}, async (page, shot) => {
    await signedIn(page);
    await page.goto(ask());
    for (let i = 0; i < tabs; i++) await page.keyboard.press("Tab");
    equal(await page.evaluate(() => document.activeElement.textContent), name, "the focus");
    equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "solid", "the focus is seen");
    await shot("consent-keyboard-" + name.toLowerCase());
    await page.keyboard.press("Enter");
    equal((await came(page)).has(name === "Grant" ? "code" : "error"), true, "the answer");
  });
}

check("a client that is not what it says", {}, async (page, shot) => {
  await signedIn(page);
  for (const wrong of [{ client_id: "nobody" }, { redirect_uri: "http://evil.test/livez" }]) {
    await page.goto(ask(wrong));
    await page.getByRole("heading", { name: "This does not work" }).waitFor();
    equal(new URL(page.url()).origin, main, "still here");
    equal(await page.getByRole("button").count(), 0, "buttons");
  }
  await shot("consent-refused");
});

check("consent on a phone", { viewport: { width: 360, height: 640 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }, async (page, shot) => {
  await signedIn(page);
  await page.goto(ask({ scope: "crud:read " + "long".repeat(30) }));
  await shot("consent-phone");
  equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "it fits");
  for (const name of ["Grant", "Deny"]) {
    const button = await page.getByRole("button", { name }).boundingBox();
    equal(button.height >= 44, true, `a finger meets the button at ${JSON.stringify(button)}`);
  }
});

check("consent in the dark", { colorScheme: "dark" }, async (page, shot) => {
  await signedIn(page);
  await page.goto(ask());
  await shot("consent-dark");
});

// See the same of signing in.
check("consent over plain HTTP from another machine", {}, async (page) => {
  const away = (address) => address.replace("127.0.0.1", "restsrv.test");
  await page.goto(away(ask()));
  await signIn(page);
  await page.getByRole("button", { name: "Grant" }).click();
  equal((await came(page)).has("code"), true, "a code");
});

check("another account", {}, async (page) => {
  await signedIn(page);
  await page.goto(ask());
  await page.getByRole("link", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign out?" }).waitFor();
});

const evil = (page, body) =>
  page.route("http://evil.test/", (route) => route.fulfill({ contentType: "text/html", body }));

check("no other site grants, nor frames the page", {}, async (page) => {
  await signedIn(page);
  const target = ask().replaceAll("&", "&amp;");
  await evil(page, `<iframe name="page" src="${target}"></iframe><form method="post" action="${target}"><button>Win</button></form>`);
  await page.goto("http://evil.test/");
  equal(await page.frame("page").getByRole("button").count(), 0, "buttons in the frame");
  await page.getByRole("button", { name: "Win" }).click();
  await page.waitForURL((url) => url.hostname !== "evil.test");
  equal(new URL(page.url()).searchParams.has("code"), false, `a code in ${page.url()}`);
  equal(new URL(page.url()).pathname !== "/livez", true, `an answer at ${page.url()}`);
});

await run();
