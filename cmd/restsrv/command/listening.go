package command

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"restsrv/engine"
	"restsrv/engine/server"
)

// maxListed is the maximum number of services that the server lists when it starts.
const maxListed = 15

// credentials describes the credentials that services accept, by authentication mode.
var credentials = map[engine.AuthMode]string{
	engine.AuthNone: "no credentials", engine.AuthPwd: "account and password", engine.AuthToken: "token", engine.AuthOAuth: "OAuth2 token",
}

// printListening prints the address, the services with their modes and the next steps.
func printListening(to io.Writer, l server.Listening) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s serves %s\n", l.URL, l.Dir)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, svc := range l.Services {
		if i == maxListed && len(l.Services) > maxListed+1 {
			fmt.Fprintf(w, "  and %d more\n", len(l.Services)-maxListed)
			break
		}
		takes, ok := credentials[svc.Mode]
		if !ok {
			takes = "unknown mode: refuses every request"
		}
		fmt.Fprintf(w, "  /rest/%s\t%s\t%s\n", svc.Name, tableCell(svc.Module), takes)
	}
	_ = w.Flush() // b cannot fail
	if i := slices.IndexFunc(l.Services, func(svc server.ServiceInfo) bool { return svc.Module == "builtin/crud" && svc.Mode == engine.AuthPwd }); i >= 0 && len(l.Classes) > 0 {
		fmt.Fprintf(&b, "Try: curl -u admin@local %s/rest/%s/%s\n", l.URL, l.Services[i].Name, l.Classes[0])
	}
	b.WriteString("restsrv -h lists the commands, restsrv check the mistakes of the application.\n\n")
	_, _ = io.WriteString(to, b.String()) // fails if the terminal is gone
}
