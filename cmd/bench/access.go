package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Accounts with permission checks, for comparison with the administrator, whose requests are not
// checked. All accounts have the same password.
const (
	reader  = "reader@local"  // has all permissions on the classes
	member  = "member@local"  // may read only items of memberGroup: each of these items gives it a role (roleMap)
	partial = "partial@local" // may read the class except one attribute
)

// memberGroup is the group of rows that member may read.
const memberGroup = groupPrefix + "000000000001"

// protected is the resource of an attribute that is hidden from accounts without a grant on it.
const protected = "a:::note@bench.body"

// Credentials of the OAuth2 client.
const (
	clientID     = "bench"
	clientSecret = "bench-secret"
)

// pluginConfig configures a role that depends on the item (roleMap) and the OAuth2 provider.
func pluginConfig() object {
	return object{
		"securedDataRepo": object{"options": object{"roleMap": object{"note@bench": object{"MEMBER": object{"attribute": "group"}}}}},
		"oauth": object{"module": "builtin/oauth", "options": object{"clients": []object{
			{"id": clientID, "secret": clientSecret, "grants": []string{"client_credentials"}, "account": reader},
		}}},
	}
}

// addAccounts creates the accounts and grants permissions to them and to the anonymous account. So
// all measured requests include permission checks, except those of the administrator.
func addAccounts(ctx context.Context, p *process) error {
	for _, u := range []struct{ id, roles string }{{reader, "reader"}, {member, memberGroup}, {partial, "partial"}} {
		if err := p.runCommand(ctx, "user", "add", "-force", "-roles", u.roles, u.id); err != nil {
			return err
		}
	}
	var grants [][]string
	for _, subject := range []string{"anonymous", "reader"} {
		for _, class := range []string{"note", "author", "topic", "entry"} {
			grants = append(grants, []string{subject, "c:::" + class + "@bench", "read", "write", "use"})
		}
		grants = append(grants, []string{subject, protected, "read", "write"})
	}
	grants = append(grants, []string{"reader", "ws:::gen-ws-token", "use"}, []string{"partial", "c:::note@bench", "read"},
		[]string{"MEMBER", "c:::note@bench", "read"}, []string{memberGroup, protected, "read"})
	for _, g := range grants {
		if err := p.runCommand(ctx, append([]string{"acl", "grant"}, g...)...); err != nil {
			return err
		}
	}
	time.Sleep(time.Second) // servers notice changes within half a second
	return nil
}

// runCommand runs a command such as "user add" on the database of the server. The password is its
// standard input.
func (p *process) runCommand(ctx context.Context, args ...string) error {
	all := append([]string{args[0], args[1], "-config", filepath.Join(p.dir, "deploy.json")}, args[2:]...)
	c := exec.CommandContext(ctx, p.path, all...)
	c.Dir, c.Stdin = p.dir, strings.NewReader(adminPassword+"\n")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("restsrv %s: %w: %s", strings.Join(args, " "), err, excerpt(string(out)))
	}
	return nil
}

// accessScenarios returns comparisons of restsrv with itself: requests with permission checks
// against the same requests of the administrator, and requests with tokens against anonymous
// requests.
func accessScenarios(admin string) []scenario {
	one, list := item("signed"), path("signed/note@bench/?_count=20")
	few := path("signed/note@bench/?_count=20&group=" + memberGroup)
	as := func(account string, p *template) *template { return ask("GET", p, basicLine(account), nil) }
	gated := func(name, account string, p *template, items int) scenario {
		return scenario{name: name + " (floor = restsrv, administrator)", must: target{ratio: 1.1}, own: true, items: items,
			left: ask("GET", p, admin, nil), right: as(account, p)}
	}
	proven := func(name, service string, token func(context.Context, *process) (string, error)) scenario {
		return scenario{name: "GET one, " + name + " seen before (floor = restsrv, anonymous)", must: target{extra: 3 * time.Microsecond}, own: true,
			left: get(item("crud")), find: func(ctx context.Context, p *process) (*template, error) {
				secret, err := token(ctx, p)
				return ask("GET", item(service), "Authorization: Bearer "+secret+"\r\n", nil), err
			}}
	}
	return []scenario{
		gated("GET one, may read the class", reader, one, 0),
		gated("list of 20, may read the class", reader, list, 20),
		gated("20 by indexed text, may read the class", reader, group("signed/note@bench/?_count=20&"), 20),
		gated("GET one, an attribute is hidden", partial, one, 0),
		gated("list of 20, an attribute is hidden", partial, list, 20),
		gated("20 of a group, which a role gives", member, few, 20),
		proven("token", "tokened", ownToken),
		proven("OAuth2 token", "bearer", clientToken),
	}
}

// ownToken requests a token for account reader.
func ownToken(ctx context.Context, p *process) (string, error) {
	a, err := p.fetch(ctx, "GET", "/rest/token", reader, "")
	return strings.TrimSpace(string(a.text)), err
}

// clientToken requests an OAuth2 token for account reader.
func clientToken(ctx context.Context, p *process) (string, error) {
	a, err := p.fetch(ctx, "POST", "/oauth2/token", "", "grant_type=client_credentials&client_id="+clientID+"&client_secret="+clientSecret)
	if err != nil {
		return "", err
	}
	var answer struct {
		Token string `json:"access_token"`
	}
	err = json.Unmarshal(a.text, &answer)
	return answer.Token, err
}

// basicLine returns the header line with the credentials of an account.
func basicLine(id string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+adminPassword)) + "\r\n"
}
