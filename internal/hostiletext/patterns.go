package hostiletext

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// pattern is one form of an attack.
type pattern struct {
	rule, says string
	at         topic // what its line speaks of
	near       topic // what the lines around it speak of; 0: it is in one line
	re         *lazy
	unless     func(unit []byte, loc []int) bool // why a match does not count
}

// wide reports whether p may go over several lines.
func (p *pattern) wide() bool { return p.near != 0 }

// Parts of patterns. A line of a command may be continued; a sentence may go on in
// the next line.
var parts = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(
		"LINE", `(?:[^\n]|\\\n)*?`,
		"ARG", `(?:[^\n|;&]|\\\n)*?`,
		"FEW", `(?:[^\w\n.]*\n?[^\w\n.]*\b[\w'’-]+){0,5}?[^\w.]{1,6}`,
		"MANY", `(?:[^.\n]|\.\w)*?(?:\n(?:[^.\n]|\.\w)*?)?`,
		"FETCH", `\b(?:curl|wget|aria2c|iwr|irm|invoke-webrequest|invoke-restmethod)\b`,
		"SUDO", `(?:(?:sudo|doas|exec|command|nohup|env|busybox|time|xargs)\s+(?:-\S+\s+|\w+=\S*\s+)*)*(?:[\w./~-]*/)?`,
		"SHELL", `(?:(?:ba|z|da|k|a|fi|c|tc)?sh|pwsh|powershell|iex|invoke-expression|source)\b`,
		"INTERPRETER", `(?:python[\d.]*|node|deno|bun|perl|ruby|php|lua|osascript)`,
		"STORE", `(?:(?:~|\$home|\$\{home\}|/root|/home/[\w.$-]+|/users/[\w.$-]+|%userprofile%|\$env:userprofile)[/\\]\.(?:ssh|aws|gnupg|kube|docker/config|netrc|npmrc|pypirc|git-credentials|config/(?:gh|gcloud|git/credentials)|bash_history|zsh_history|azure|claude(?:\.json|/\.credentials)|codex/auth|cursor/mcp\.json|env)\S*|\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?:\.pub)?|/etc/(?:passwd|shadow)\b|/proc/(?:self|\d+)/environ\b|\.aws/credentials\b|\.ssh/id_\w+(?:\.pub)?|(?:[\w.-]*/)*\.env(?:\.(?:local|production|development|prod|dev))?\b|\bcredentials\.json\b|\bwallet\.dat\b|\bcookies\.sqlite\b|\blogin data\b|\bkeychain-db\b)`,
		"SENDER", `\b(?:curl|wget|nc|ncat|netcat|telnet|iwr|irm|invoke-webrequest|invoke-restmethod|mailx?|sendmail|ssh|openssl\s+s_client|gh\s+gist\s+create|http\s+(?:post|put))\b`,
		"DATA", `(?:\{\{?|<|\[|\$\{?)[\w ,'’-]*(?:secret|token|api key|env|password|conversation|history|prompt|typed|messages?|cookie)[\w ,'’-]*(?:\}|>|\])`,
		"SECRET", `\w*(?:token|secret|passw|api_?key|access_?key|private_?key|credential)\w*`,
		"MODELS", `(?:ai|llms?|ais|(?:ai |coding |language )?(?:assistants?|agents?|models?)|claude(?: code)?|copilot|cursor|codex|gemini|chatgpt|gpt|bots?)`,
		"PERSON", `(?:the |any |your |a )?(?:end[- ]?)?(?:users?|humans?|developers?|operators?|reviewers?|human operator)\b`,
		"NOT", `\b(?:do not|don['’]?t|never|must not|mustn['’]t|should not|shouldn['’]t|avoid|without)\s+(?:ever |even |need to |have to )?`,
	)
})

// lazy is a pattern that is compiled when it is first used.
type lazy struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

func lazily(text string) *lazy { return &lazy{text: text} }

func (l *lazy) get() *regexp.Regexp {
	l.once.Do(func() { l.re = regexp.MustCompile(`(?i)` + parts().Replace(l.text)) })
	return l.re
}

const (
	runsFetched = "runs what it downloads"
	runsDecoded = "runs text that it decodes"
	opensShell  = "gives another machine a shell"
	takesFiles  = "sends files with secrets away"
	takesEnv    = "sends the environment, with its secrets, away"
)

// patterns are all patterns. Where two match, the first counts.
var patterns = sync.OnceValue(func() []*pattern {
	return []*pattern{
		{PipeToShell, runsFetched, fetches | pipes, 0, lazily(`FETCHLINE(?:://|\$|\w\.[a-z]{2,})LINE\|&?\s*SUDOSHELL`), aFileNext},
		{PipeToShell, runsFetched, fetches | pipes, 0, lazily(`FETCHLINE(?:://|\$|\w\.[a-z]{2,})LINE\|&?\s*SUDOINTERPRETER(?:\s+-)?\s*(?:$|["'` + "`" + `);&\n])`), nil},
		{PipeToShell, runsFetched, inserts, 0, lazily(`\b(?:(?:ba|z|da|k)?sh|source|eval|exec|INTERPRETER)\s+(?:-\w+\s+)*["']?(?:<\(|<<<\s*["']?\$\(|\$\()\s*(?:sudo\s+)?FETCH`), nil},
		{PipeToShell, runsFetched, inserts, 0, lazily(`(?:\beval|sh\s+-c)\s+["']?` + "`" + `\s*FETCH`), nil},
		{PipeToShell, runsFetched, inserts, 0, lazily(`(?:^|[\s;&(` + "`" + `])\.\s+<\(\s*FETCH`), nil},
		{PipeToShell, runsFetched, fetches | powers, 0, lazily(`\b(?:iex|invoke-expression)\b[^\w\n]LINE(?:\birm\b|\biwr\b|invoke-(?:web|rest)|downloadstring|webclient|\bcurl\b|\bwget\b)`), nil},
		{PipeToShell, runsFetched, fetches | powers, 0, lazily(`(?:downloadstring|\birm\b|\biwr\b|invoke-webrequest|invoke-restmethod)LINE\|\s*(?:iex|invoke-expression)\b`), nil},
		{PipeToShell, runsFetched, powers, 0, lazily(`\b(?:mshta|regsvr32)\bARGhttps?:|\bcertutil\bARG-(?:urlcache|decode)\b|\bbitsadmin\bARG/transfer`), nil},
		{PipeToShell, runsFetched, fetches, starts, lazily(`FETCHLINE(?:://|\$)LINE(?:&&|;|\n)`), notRunLater},
		{PipeToShell, runsDecoded, decodes | pipes, 0, lazily(`(?:\bbase64\s+(?:-d|-di|--decode)\b|\bopenssl\bARG\s-d\b|\bxxd\s+(?:-\w+\s+)*-\w*r|\buudecode\b|\|\s*rev\b|\|\s*tr\s|\bprintf\s+["']?\\x)LINE\|\s*SUDO(?:SHELL|INTERPRETER\s*(?:-\s*)?(?:$|["'` + "`" + `);&\n]))`), nil},
		{PipeToShell, runsDecoded, decodes, 0, lazily(`\b(?:(?:ba|z|da|k)?sh|source|eval|exec|INTERPRETER)\s[^\n|;]*?(?:\$\(|<\(|<<<|` + "`" + `)[^\n` + "`" + `]*?\b(?:base64\s+(?:-d|-di|--decode)\b|xxd\s+(?:-\w+\s+)*-\w*r|openssl\b[^\n]*?\s-d\b)`), nil},
		{PipeToShell, runsDecoded, decodes, 0, lazily(`\b(?:powershell|pwsh)\b[^\n]*?\s[-/]e(?:c|nc|ncodedcommand)?\s+["']?[a-z0-9+/=]{16,}`), nil},
		{PipeToShell, runsDecoded, decodes, 0, lazily(`\b(?:exec|eval|function|os\.system|popen)\s*\([^\n]*?(?:b64decode|base64\.|atob\s*\(|['"]base64['"]|fromhex|urlopen\(|requests\.get\(|codecs\.decode|decompress\(|marshal\.loads)`), nil},

		{ReverseShell, opensShell, shells, 0, lazily(`\b(?:ba|z)?sh\s+-i\b[^\n]*?(?:/dev/(?:tcp|udp)/|[<>]&|\bnc\b)`), nil},
		{ReverseShell, opensShell, shells, 0, lazily(`\bexec\s+\d+<>\s*/dev/(?:tcp|udp)/|[<>]\s*/dev/(?:tcp|udp)/[^\n]*?(?:0<&1|0>&1|<&\d|2>&1)`), toItself},
		{ReverseShell, opensShell, shells, 0, lazily(`\b(?:nc|ncat|netcat)(?:\.\w+)?\b[^\n]*?(?:\s-[a-z]*[ec]\s*["']?(?:/\S*/)?(?:(?:ba|z|da|k)?sh\b|cmd|powershell)|--(?:sh-)?exec\b)`), nil},
		{ReverseShell, opensShell, shells, shells, lazily(`\bmkfifo\b(?:.|\n)*?\b(?:nc|ncat|netcat|telnet|openssl\s+s_client)\b`), nil},
		{ReverseShell, opensShell, shells, 0, lazily(`\bsocat\b[^\n]*?\b(?:exec|system):`), nil},
		{ReverseShell, opensShell, shells, shells, lazily(`\bconnect\s*\((?:.|\n)*?(?:\bdup2\b|pty\.spawn)|(?:\bdup2\b|pty\.spawn)(?:.|\n)*?\bconnect\s*\(`), nil},
		{ReverseShell, opensShell, shells, shells, lazily(`\bfsockopen\b(?:.|\n)*?(?:\b(?:shell_)?exec\b|proc_open|passthru|/bin/(?:ba)?sh)|\buse socket\b(?:.|\n)*?\bexec\b|\btcpsocket\.(?:open|new)\b(?:.|\n)*?(?:\bexec\b|popen|/bin/(?:ba)?sh)|net\.sockets\.tcpclient(?:.|\n)*?(?:\biex\b|invoke-expression|getstream)|\bnet\.(?:connect|socket)\b(?:.|\n)*?(?:/bin/(?:ba)?sh|cmd\.exe)`), nil},
		{ReverseShell, opensShell, shells, shells, lazily(`/bin/(?:ba)?sh\b(?:.|\n)*?\bnet\.(?:connect|socket)\b|\b(?:telnet|nc|ncat)\s+\S+\s+\d+\s*\|\s*(?:/bin/)?(?:ba|z)?sh\b`), nil},

		{SendsSecrets, takesFiles, stores | sends, 0, lazily(`SENDERLINE(?:@|\s-T\s+|--upload-file[ =]|--post-file[ =]|--body-file[ =]|-infile\s+|\$\(\s*(?:cat|base64|head|tail|xxd|tar|gzip|zip|<)\s[^)\n]*?|\s<\s*|create\s+(?:-\S+\s+)*)["']?STORE`), public},
		{SendsSecrets, takesFiles, stores | sends, 0, lazily(`\b(?:cat|base64|tar|zip|gzip|xxd|strings|head|tail|less|grep|sed|awk|find|type|get-content|gc)\b[^\n|]*?\bSTORE[^\n|]*(?:\|[^|\n]*?)*?\|\s*(?:\w+=\S+\s+|sudo\s+|xargs\s+(?:-\S+\s+)*)*SENDER`), public},
		{SendsSecrets, takesFiles, stores | sends, 0, lazily(`\b(?:cat|base64|tar|zip|gzip|xxd|strings|head|tail|less|grep|sed|awk|find|type|get-content|gc)\b[^\n|]*?[\s"'@=]STORE[^\n|]*(?:\|[^|\n]*?)*?\|\s*(?:\w+=\S+\s+|sudo\s+|xargs\s+(?:-\S+\s+)*)*SENDER`), public},
		{SendsSecrets, takesFiles, stores | sends, 0, lazily(`\b(?:scp|rsync)\s+(?:-[a-hj-z]+\s+)*["']?STORE\s+\S*[\w.]+:|\b(?:aws\s+s3|gsutil)\s+cp\s+["']?STORE\s+(?:s3|gs)://`), public},
		{SendsSecrets, takesFiles, stores, sends, lazily(`\b(?:open|readfilesync|read_text|readfile|file_get_contents)\s*\(\s*[^)\n]*?STORE(?:.|\n)*?\b(?:requests\.(?:post|get|put)|urlopen|axios|fetch|sendbeacon|https?\.request|curl)\b`), public},
		{SendsSecrets, takesFiles, stores, sends, lazily(`\b(?:requests\.(?:post|get|put)|urlopen|axios[.\w]*|fetch|sendbeacon)\s*\((?:.|\n)*?\b(?:open|readfilesync|readfile)\s*\(\s*[^)\n]*?STORE`), public},
		{SendsSecrets, takesEnv, stores | sends, 0, lazily(`(?:^|[\s;&(` + "`" + `"'])(?:env|printenv|set|export\s+-p|gci\s+env:|dir\s+env:|get-childitem\s+env:)\s*(?:\|[^|\n]*?)*?\|\s*(?:sudo\s+|xargs\s+(?:-\S+\s+)*)*SENDER`), nil},
		{SendsSecrets, takesEnv, stores | sends, 0, lazily(`SENDERLINE(?:\$\(\s*(?:env|printenv|set|export)\b|[=@"' ]` + "`" + `(?:env|printenv)\s*(?:\|[^` + "`" + `\n]*)?` + "`" + `|get-childitem\s+env:|gci\s+env:)`), proseOfCode},
		{SendsSecrets, takesEnv, stores, sends, lazily(`(?:json\.stringify\(\s*process\.env\s*[,)]|(?:json\.dumps|dict|str|repr|urlencode)\(\s*(?:dict\()?os\.environ\b\s*[,)]|\b(?:data|json|body|params)\s*[=:]\s*(?:dict\()?(?:os\.environ|process\.env)\s*[,)}])`), nil},
		{SendsSecrets, takesFiles, stores | sends, 0, lazily(`(?:security\s+find-(?:generic|internet)-password|git\s+credential\s+fill|kubectl\s+get\s+secrets?|gh\s+auth\s+token|gcloud\s+auth\s+print-access-token)[^\n]*?\|\s*(?:xargs\s+(?:-\S+\s+)*)?SENDER`), nil},
		{SendsSecrets, "sends a secret in a web address", stores | sends | addresses, 0, lazily(`https?://[^\s"'` + "`" + `]*[?&](\w+)=["']?\s*\+?\s*(?:\$\{?|process\.env\.|os\.environ\[["'])SECRET`), namedAuth},
		{SendsSecrets, "sends a secret in a web address", stores | sends | addresses, 0, lazily(`https?://\$\{?SECRET\}?\.[\w.-]*[a-z]{2,}`), nil},
		{SendsSecrets, "sends a token to another service than its own", stores | sends | addresses, 0, lazily(`SENDER[^\n]*?https?://([\w.-]+)[^\n]*?(?:\$\{?|process\.env\.)(anthropic|openai|github|gh|npm|aws_secret|stripe|slack)_[\w]*(?:token|key|secret)`), ownService},
		{SendsSecrets, "sends data to a service that collects it", sends | drops, 0, lazily(`SENDERLINE(?:webhook\.site|requestbin|pipedream\.net|ngrok(?:-free)?\.(?:io|app|dev)|burpcollaborator|oastify\.com|\.oast\.\w+|interact\.?sh|requestcatcher|beeceptor|canarytokens|transfer\.sh|\bfile\.io|0x0\.st|termbin|pastebin\.com|dnslog|paste\.rs)`), nil},
		{SendsSecrets, "sends data in the names that it looks up", resolves, 0, lazily(`\b(?:dig|nslookup|host|ping|drill|resolvectl\s+query|getent\s+hosts)(?:\s+[-+@]\S+|\s+\d+|\s+(?:txt|any|mx|aaaa|a))*\s+["']?[\w.-]*(?:\$\([^)\n]*\)|` + "`[^`\n]+`" + `|\$\{?(?:data|SECRET|chunk|payload|secret|enc\w*)\}?)\.[\w.-]*[a-z]{2,}`), nil},
		{SendsSecrets, "sends data in the names that it looks up", resolves, 0, lazily(`\bgethostby\w+\([^\n]*?(?:environ|b64encode|hex\(|secret|token|passw)`), nil},
		{SendsSecrets, "has a picture whose address carries data", images, 0, lazily(`!\[[^\]\n]*\]\(\s*<?https?://[^)\s]*[?&][^)\s]*?(?:\{\{?[^{}\n]*\}|\$\{?\w|<[\w -]+>|\[[\w -]+\]|%7b|\.\.\.)`), nil},
		{SendsSecrets, "has a picture whose address carries data", images, transmits, lazily(`!\[[^\]\n]*\]\(\s*<?https?://[^)\s]*[?&](?:.|\n)*?(?:encoded|base64|in place of|instead of|replac\w+|substitut\w+|fill(?:ed)? in)`), notOfAPerson},
		{SendsSecrets, "has a picture whose address carries data", images, 0, lazily(`<img\b[^>\n]*?\bsrc\s*=\s*["']?https?://[^"'>\n]*[?&][^"'\n]*?DATA`), nil},
		{SendsSecrets, "has a link whose address carries data", addresses, 0, lazily(`(?m:^)[ \t]*\[[^\]\n]+\]:[ \t]*<?https?://[^\s?]*\?[^\n]*?DATA`), nil},
		{SendsSecrets, "has a link whose address carries data", images | things, 0, lazily(`\]\(\s*<?https?://[^)\s]*[?&][^)\s]*?(?:\{\{?|<|\[|\$\{?)[\w -]*(?:secret|token|key|env|password|conversation|context|history|prompt|data|cookie|file)[\w -]*(?:\}|>|\])?`), nil},
		{SendsSecrets, "tells to send secrets or conversations to a web address", transmits, things | addresses, lazily(`\b(?:send|sends|post|upload|exfiltrate|transmit|forward|leak|relay|submit)\bMANY(?:\b(?:environment variables?|env vars?|api[ _-]?keys?|(?:access |auth |github |session )?tokens?\b|secrets?\b|credentials?|passwords?|private keys?|ssh keys?|cookies?|conversations?|chat (?:history|logs?)|system prompt|source code|contents? of)|STORE)MANY\bto\bMANY(?:https?://|\bthe webhook|\ba webhook)`), public},
		{SendsSecrets, "tells to send secrets or conversations to a web address", transmits, things | addresses, lazily(`\b(?:append|embed|encode|attach|include|put|pass|add|insert|copy|write)\b\s(?:MANY\s)?(?:environment variables?|env vars?|private keys?|ssh keys?|conversations?|chat (?:history|logs?)|system prompt|secrets?\b|STORE)MANY\b(?:to|in|into|as|with|at)\bMANYhttps?://`), public},
		{SendsSecrets, "tells to read a secret and to hand it on", homes, transmits, lazily(`\b(?:read|open|cat|load|access|get|fetch|copy)\b(?:\s+(?:the|your|contents?|of|file|from|user['’]s)){0,4}\s+["'` + "`" + `(]?(?:~|\$home|/root|/home/[\w.-]+)?/?\.?(?:(?:ssh|aws|gnupg|cursor|claude)/[\w.-]+|id_rsa|id_ed25519|netrc|git-credentials|etc/passwd|claude\.json)["'` + "`" + `)]?MANY\b(?:pass|include|send|put|embed|append|attach|paste|provide|return|write|add)\b`), public},

		{Overrides, "tells to disobey what was said before", disobeys, orders, lazily(`\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|stop following|(?:do not|don['’]t|no longer) follow)\sFEW?(?:(?:previous|prior|earlier|preceding|foregoing|above|former|other|existing|original|initial|system|developer|safety|your)\s+){1,3}(?:\w+\s+)?(?:instructions?|prompts?|directions?|directives?|guidelines?|guardrails?|commands?|messages?|restrictions|rules|training|safeguards?)\b`), quoted},
		{Overrides, "tells to disobey what was said before", disobeys, orders, lazily(`\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+)?(?:of\s+)?(?:the\s+|your\s+|these\s+)?(?:instructions?|prompts?|directives?|guidelines|guardrails|rules|everything)\s+(?:that\s+)?(?:above|before|you (?:were|have been|had been|know|got)|given (?:to you )?(?:above|before|so far|earlier)|up (?:un)?til)`), quoted},
		{Overrides, "tells to disobey what was said before", disobeys, orders, lazily(`\b(?:override|bypass|supersede)s?\s+(?:all\s+|any\s+|the\s+|your\s+)*(?:previous|prior|earlier|safety|system|built-in)\s+(?:and\s+\w+\s+)?(?:instructions?|guidelines|guardrails|restrictions|safeguards?|directives?)\b`), quoted},
		{Overrides, "gives the model another role", disobeys, orders, lazily(`\byou are now\s+(?:in\s+|an?\s+)?(?:dan\b|developer mode|jailbr\w+|unrestricted|free (?:of|from)|no longer)|\bnew system prompt\s*:`), quoted},
		{Overrides, "puts itself above the person", disobeys, orders, lazily(`\b(?:regardless of|no matter) what the (?:user|human|developer) (?:say|ask|want|request)s?\b|\beven if the (?:user|human|developer) (?:says|asks|tells you)[^.\n]*?(?:not to|otherwise|stop)`), quoted},
		{Overrides, "imitates the marks of a conversation", marks, 0, lazily(`<\|im_start\|>\s*system|<\|start_header_id\|>\s*system|<<SYS>>|<\|system\|>|\[inst\][^\n]*?\b(?:you|ignore|must)\b|(?:^|\n)[\s#>*\[]*system (?:override|message to (?:the )?(?:ai|assistant|model|agent))\b`), quoted},

		{HidesFromUser, "tells to hide something from the person", hides, persons, lazily(`NOT(?:tell|telling|inform|informing|notify|notifying|alert|alerting|warn|warning)\s+PERSON`), toDoSomething},
		{HidesFromUser, "tells to hide something from the person", hides, persons, lazily(`NOT(?:let|letting)\s+PERSON\s+(?:know|see|notice|find out)\b`), quoted},
		{HidesFromUser, "tells to hide something from the person", hides, persons, lazily(`NOT(?:mention|reveal|disclose|report|show|display|log|acknowledge|discuss|refer to|reference|explain)(?:ing)?\s+(?:\w+\s+)?(?:this|these|it|them|any of (?:this|these)|that (?:you|this|it|the)\b|(?:its|their|the) (?:existence|presence|addition|origin)|the (?:above|hidden|added|extra|following|instruction|injected|script|change)s?)\bMANY\b(?:to|in|from|with)\s+(?:PERSON|(?:your |the |any |its )(?:\w+ )?(?:responses?|repl(?:y|ies)|outputs?|summar(?:y|ies)|commit messages?|chat|answers?|logs?|pull requests?|messages?|explanations?|comments?)\b)`), quoted},
		{HidesFromUser, "tells to hide something from the person", hides, persons, lazily(`\b(?:hide|conceal)\s+(?:this|these|it|them|that|the (?:instructions?|changes?|actions?|commands?|fact|request|upload|call))\b[^.\n]*?\bfrom\s+PERSON|\bkeep\s+(?:this|these|it|them)\s+(?:a\s+)?(?:secret|hidden|private|confidential)\s+from\s+PERSON`), quoted},
		{HidesFromUser, "tells to hide something from the person", behind, persons, lazily(`\bwithout\s+PERSON(?:['’]s)?\s+(?:knowing|knowledge|noticing|ever knowing|being aware|awareness)\b|PERSON\s+(?:must|should|will|need|does|may)\s*(?:not|never|n['’]t)\s+(?:know|see|notice|be aware|be told|find out|learn)\b(?:\s+(?:about|of|that|this|it)\b|[.!;,]|\n|$)`), quoted},
		{HidesFromUser, "tells to act in secret", hides, things, lazily(`\b(?:secretly|covertly|silently)\s+(?:send|upload|exfiltrate|post|transmit|copy|forward|read)\b`), quoted},

		{Lookalike, "has a web address that leads elsewhere than it seems", deceives | addresses, 0, lazily(`https?://[\w.-]+\.(?:com|org|net|io|dev|ai|sh|co|edu|gov)(?::[\w.-]*)?@[\w.-]+`), nil},
		{Lookalike, "has a web address in letters of another alphabet", deceives, 0, lazily(`https?://(?:[\w-]+\.)*xn--[a-z0-9-]+`), nil},
		{HiddenComment, "addresses a model in a comment that pages do not show", unseen, unseen, lazily(`(?m:^)[ \t]*\[(?://|comment|_|[\w -]*)\]:\s*(?:#|<>)\s*["'(]((?:[^\n]|\n[ \t]*[^\n \t])*)`), notToModels},
		{HiddenComment, "addresses a model in an element that pages do not show", unseen, 0, lazily(`<\w+[^>\n]*(?:style\s*=\s*["'][^"'>]*(?:display:\s*none|font-size:\s*0|visibility:\s*hidden|opacity:\s*0|color:\s*(?:white|#fff\w*|transparent)\b)[^"'>]*["']|\shidden\b|aria-hidden\s*=\s*["']true["'])[^>\n]*>([^<]*)`), notToModels},
	}
})

// aFileNext reports whether the shell of a match runs a file, and reads the
// download as that file's input.
func aFileNext(unit []byte, loc []int) bool {
	rest := unit[loc[1]:]
	trimmed := bytes.TrimLeft(rest, " \t")
	if len(trimmed) == len(rest) || len(trimmed) == 0 {
		return false
	}
	word := trimmed
	if i := bytes.IndexAny(word, " \t\n`\"'|;&)"); i >= 0 {
		word = word[:i]
	}
	return word[0] != '-' && word[0] != '#' && bytes.ContainsAny(bytes.TrimRight(word, ".,:"), "./")
}
