// The pages of /auth, as people meet them.
import { check, equal, run, servers } from "./harness.mjs";

const { main, brief, limited } = servers;
const sessions = async (context) => (await context.cookies()).filter((c) => c.name.endsWith("restsrv"));
const path = (page) => page.url().replace(/^https?:\/\/[^/]*/, "");

async function signIn(page, password = "correct-horse") {
  await page.getByLabel("User name").fill("admin");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

check("signs in and out", {}, async (page, shot, context) => {
  await page.goto(main + "/auth");
  await shot("sign-in");
  equal(await page.title(), "Sign in", "title");
  await signIn(page);
  await page.getByText("You are signed in as admin@local.").waitFor();
  await shot("signed-in");
  const [cookie, ...others] = await sessions(context);
  equal(others.length, 0, "other cookies");
  equal(cookie.httpOnly && cookie.sameSite === "Lax" && cookie.path === "/" && cookie.expires === -1, true, `flags of ${JSON.stringify(cookie)}`);
  equal(await page.evaluate(() => document.cookie), "", "what scripts see of it");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("status").getByText("You are signed out.").waitFor();
  await shot("signed-out");
  equal((await sessions(context)).length, 0, "cookies after signing out");
});

check("a wrong password", {}, async (page, shot, context) => {
  await page.goto(main + "/auth?return=%2Flivez");
  await signIn(page, "wrong");
  await page.getByRole("alert").getByText("The user name or the password is wrong.").waitFor();
  await shot("wrong-password");
  equal((await sessions(context)).length, 0, "cookies");
  equal(await page.getByLabel("Password").inputValue(), "", "the password in the page");
  equal(page.url().includes("wrong-password") || page.url().includes("admin"), false, "what the address tells");
  // It has not forgotten where the way leads.
  await signIn(page);
  await page.waitForURL(main + "/livez");
});

check("too many attempts", {}, async (page, shot, context) => {
  await page.goto(limited + "/auth?return=%2Flivez");
  await signIn(page, "wrong 1");
  await page.getByText("The user name or the password is wrong.").waitFor();
  await signIn(page, "wrong 2");
  await page.getByRole("alert").getByText(/^There were too many attempts to sign in. Try again in \d+ (seconds|minutes)\.$/).waitFor();
  await shot("too-many");
  equal(await page.title(), "Sign in", "title");
  equal(await page.locator("html").getAttribute("lang"), "en", "language");
  equal(await page.locator("input[name=return]").getAttribute("value"), "/livez", "where the way leads");
  equal((await sessions(context)).length, 0, "cookies");
});

check("an empty form is not sent", {}, async (page) => {
  await page.goto(main + "/auth");
  await page.getByRole("button", { name: "Sign in" }).click();
  equal(path(page), "/auth", "address");
  equal(await page.getByLabel("User name").evaluate((e) => e === document.activeElement), true, "the empty field has the focus");
});

check("keyboard only", {}, async (page, shot) => {
  await page.goto(main + "/auth?return=%2Fauth%2Flogout");
  const focused = (name) => page.waitForFunction((name) => document.activeElement.name === name, name);
  await focused("username"); // the page gives it the focus; a busy browser does so after the first keys
  await page.keyboard.type("admin@local");
  await page.keyboard.press("Tab");
  await focused("password");
  await page.keyboard.type("correct-horse");
  await page.keyboard.press("Tab");
  await shot("keyboard");
  equal(await page.evaluate(() => document.activeElement.textContent), "Sign in", "the focus");
  equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "solid", "the focus is seen");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Sign out?" }).waitFor();
  await shot("sign-out");
  await page.keyboard.press("Enter"); // the only button has the focus
  await page.getByText("You are signed out.").waitFor();
});

check("without JavaScript", { javaScriptEnabled: false }, async (page) => {
  await page.goto(main + "/auth");
  await signIn(page, "wrong");
  await page.getByRole("alert").waitFor();
  await signIn(page);
  await page.getByText("You are signed in as admin@local.").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
});

check("an expired session", {}, async (page, shot, context) => {
  await page.goto(brief + "/auth");
  await signIn(page);
  await page.getByText("You are signed in as admin@local.").waitFor();
  for (const end = Date.now() + 20_000; Date.now() < end && (await page.getByText("You are signed in").count()) > 0; ) {
    await new Promise((wake) => setTimeout(wake, 300));
    await page.reload();
  }
  await page.getByRole("alert").getByText("Your session has ended. Sign in again.").waitFor();
  await shot("expired");
  equal((await sessions(context)).length, 0, "cookies");
  await page.reload(); // it is said once
  equal(await page.getByRole("alert").count(), 0, "messages");
});

check("on a phone", { viewport: { width: 360, height: 640 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true }, async (page, shot) => {
  await page.goto(main + "/auth?m=wrong");
  await shot("phone");
  equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "it fits");
  const button = await page.getByRole("button", { name: "Sign in" }).boundingBox();
  equal(button.height >= 44 && button.y + button.height < 640, true, `a finger meets the button at ${JSON.stringify(button)}`);
});

check("in the dark", { colorScheme: "dark" }, async (page, shot) => {
  await page.goto(main + "/auth?m=wrong");
  await shot("dark");
});

// Without TLS, on another machine, browsers tell the origin of a form only by
// the header Origin, and not with every policy of a page.
check("over plain HTTP from another machine", {}, async (page) => {
  await page.goto(main.replace("127.0.0.1", "restsrv.test") + "/auth");
  await signIn(page);
  await page.getByText("You are signed in as admin@local.").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
});

const evil = (page, body) =>
  page.route("http://evil.test/", (route) => route.fulfill({ contentType: "text/html", body }));

for (const host of ["127.0.0.1", "restsrv.test"]) {
  check("a form of another site signs nobody in, at " + host, {}, async (page, shot, context) => {
    const target = main.replace("127.0.0.1", host);
    await evil(page, `<form method="post" action="${target}/auth"><input name="username" value="admin"><input name="password" value="correct-horse"><button>Win</button></form>`);
    await page.goto("http://evil.test/");
    await page.getByRole("button").click();
    await page.getByRole("heading", { name: "Forbidden" }).waitFor();
    await shot("cross-site");
    equal((await sessions(context)).length, 0, "cookies");
  });
}

check("no other site frames the page", {}, async (page) => {
  await evil(page, `<iframe name="live" src="${main}/livez"></iframe><iframe name="page" src="${main}/auth"></iframe>`);
  await page.goto("http://evil.test/"); // its load event waits for the frames
  equal(await page.frame("live").content().then((c) => c.includes("ok")), true, "a frame works");
  equal(await page.frame("page").getByLabel("Password").count(), 0, "fields in the frame");
});

await run();
