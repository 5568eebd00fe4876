package hostiletext

import (
	"strings"
	"sync"
)

// topic is a set of things that a text speaks of. A pattern is tried only where
// all its topics are: patterns are slow, and most text speaks of none.
type topic uint32

const (
	fetches   topic = 1 << iota // programs and calls that download
	pipes                       // into a shell or an interpreter
	inserts                     // the output of a download into a command
	starts                      // a file as a program
	powers                      // what PowerShell and Windows run
	decodes                     // what turns text into code
	shells                      // ways to another machine's shell
	stores                      // files and variables that hold secrets
	sends                       // programs and calls that send
	things                      // secrets and conversations, in words
	addresses                   // web addresses
	resolves                    // questions to a name server
	drops                       // services that collect what is sent to them
	images                      // pictures, which programs load by themselves
	disobeys                    // verbs that end obedience
	orders                      // what is obeyed, and roles
	hides                       // orders not to tell
	behind                      // what happens without the person
	marks                       // of a conversation
	deceives                    // parts of web addresses that lead elsewhere
	homes                       // of secrets
	persons                     // those it is hidden from
	transmits                   // verbs that hand something on
	unseen                      // places that a rendered page does not show
)

// speaking are the words of a topic, in lower case.
type speaking struct {
	topic topic
	words []string
}

// list returns words that commas set apart.
func list(words string) []string { return strings.Split(words, ",") }

// negated returns verbs that are forbidden.
func negated(verbs string) []string {
	var out []string
	for _, not := range list("not ,n't ,n’t ,never ,ever ,without ,avoid ,even , to ") {
		for _, v := range list(verbs) {
			out = append(out, not+v)
		}
	}
	return out
}

// piped returns programs that read a pipe.
func piped(programs string) []string {
	var out []string
	for _, p := range list(programs) {
		out = append(out, "|"+p, "| "+p, "|& "+p)
	}
	return out
}

// words are all words.
func words() []speaking {
	return []speaking{
		{fetches, list("curl,wget,iwr,irm,invoke-web,invoke-rest,downloadstring,aria2c,webclient,mshta,certutil,regsvr32,bitsadmin")},
		{pipes, piped("sh,bash,zsh,dash,ksh,ash,fish,csh,tcsh,sudo,doas,env,exec,xargs,command,nohup,time,busybox,pwsh,powershell,iex,invoke-expression,source,python,node,deno,bun,perl,ruby,php,lua,osascript,/,~,.")},
		{inserts, list("(curl,(wget,( curl,( wget,`curl,`wget,` curl,(sudo curl,(sudo wget,(aria2c")},
		{starts, list(" sh , bash , zsh ,./,source ,&& ,; ,/tmp/,~/")},
		{powers, list("iex,invoke-expression,mshta,certutil,regsvr32,bitsadmin")},
		{decodes, list("base64,b64decode,atob,xxd,uudecode,|rev,| rev,encodedcommand,-enc ,-ec ,fromhex,codecs.decode,marshal.loads,decompress,openssl,urlopen,requests.get,\\x,| tr ,|tr ")},
		{shells, list("/dev/tcp/,/dev/udp/,mkfifo,socat,ncat ,netcat, nc ,|nc ,/nc ,`nc ,fsockopen,tcpsocket,tcpclient,dup2,pty.spawn,use socket,net.connect,net.socket,telnet,-i >&,-i>&")},
		{stores, list(".ssh,id_rsa,id_ed25519,id_ecdsa,.aws,.env,/etc/passwd,/etc/shadow,environ,.netrc,.npmrc,.pypirc,git-credentials,.kube,.docker/config,printenv,$(env,`env,env |,env|,set |,env:,.gnupg,mcp.json,.claude,.codex/auth,wallet,_history,login data,keychain,cookies.sqlite,-password,gcloud,credentials,gh auth token,credential fill,get secret,_token,_key,_secret,_password")},
		{sends, list("curl,wget, nc ,|nc ,/nc ,ncat ,netcat,scp,rsync,sftp,telnet,iwr,irm,invoke-,mail,requests.,urlopen,axios,fetch(,sendbeacon,xmlhttprequest,gist create,s3 cp,gsutil,s_client,/dev/tcp,ssh ,http.post,urllib,http ")},
		{things, list("environment var,env var,.env,api key,api-key,api_key,apikey,token,secret,credential,password,private key,ssh key,conversation,chat history,chat log,system prompt,source code,contents of,cookie,.ssh,.aws,id_rsa,mcp.json,/etc/passwd,clipboard")},
		{transmits, list("send,post ,upload,exfiltrat,transmit,forward,leak,relay,submit,append,embed,encod,attach,includ,put ,pass ,add ,insert,copy ,write,paste,return,provide")},
		{addresses, list("http://,https://,webhook")},
		{resolves, list("dig ,nslookup,host ,ping ,drill ,gethostby,getent")},
		{drops, list("webhook.site,requestbin,pipedream.net,ngrok,burpcollaborator,oastify,.oast.,interact.sh,interactsh,requestcatcher,beeceptor,canarytokens,transfer.sh,file.io,0x0.st,termbin,pastebin.com,dnslog,paste.rs")},
		{images, list("](http,](<http,<img")},
		{disobeys, list("ignor,disregard,forget,override,bypass,stop following,not follow,no longer follow,you are now,from now on,new system prompt,regardless of what,no matter what,supersede")},
		{orders, list("instruction,prompt,direction,directive,guideline,guardrail,rules,safeguard,restriction,everything,commands,user say,user ask,user want,training,developer mode,jailbr,developer mode")},
		{hides, negated("tell,inform,notify,alert,warn,let ,mention,reveal,disclos,report,show,display,log,acknowledg,discuss,refer,explain")},
		{hides, list("hide ,conceal ,secret from,hidden from,private from,confidential from,secretly,covertly,silently")},
		{behind, negated("know,see,notice,be aware,be told,find out,learn")},
		{behind, list("without the user,without user,without your user,without the human,without the dev,without the operator,without the reviewer,without a user,without any user")},
		{marks, list("im_start,[inst],<<sys>>,start_header_id,<|system,system override,system message to")},
		{deceives, list("xn--,.com@,.org@,.net@,.io@,.dev@,.ai@,.sh@,.co@,.edu@,.gov@,.com:")},
		{homes, list(".ssh/,.aws/,.gnupg/,.cursor/,.claude/.,.claude.json,id_rsa,id_ed25519,.netrc,git-credentials,/etc/passwd")},
		{persons, list("user,human,developer,operator,reviewer,in your re,in your out,in your sum,in the commit,commit message,in the summary,in the response,in the reply,in the log,in the chat,in your ans,in your com")},
		{unseen, list("<!--,]: #,]: <>,]:#,]:<>,color:transparent,color: transparent,display:none,display: none,font-size:0,font-size: 0,visibility:hidden,visibility: hidden,opacity:0,opacity: 0,color:white,color: white,color:#fff,color: #fff,<details,hidden>,aria-hidden")},
	}
}

// matcher finds all words in one pass (Aho and Corasick, Communications of the ACM
// 18, 1975).
type matcher struct {
	class [256]uint8 // of a byte; upper and lower case share one
	next  []uint16   // by state and class
	says  []topic    // by state
	n     int        // classes
}

var theMatcher = sync.OnceValue(func() *matcher { return newMatcher() })

func newMatcher() *matcher {
	m := &matcher{n: 1} // class 0: bytes that no word has
	for _, w := range words() {
		for _, word := range w.words {
			for i := range len(word) {
				if m.class[word[i]] == 0 {
					m.class[word[i]] = uint8(m.n)
					m.n++
				}
			}
		}
	}
	m.class['\n'], m.class['\t'], m.class['\r'] = m.class[' '], m.class[' '], m.class[' ']
	for c := 'a'; c <= 'z'; c++ {
		m.class[c-'a'+'A'] = m.class[c]
	}
	m.state()
	for _, w := range words() {
		for _, word := range w.words {
			at := 0
			for i := range len(word) {
				to := &m.next[at*m.n+int(m.class[word[i]])]
				if *to == 0 {
					*to = uint16(len(m.says))
					at = m.state()
				} else {
					at = int(*to)
				}
			}
			m.says[at] |= w.topic
		}
	}
	m.link()
	return m
}

// state adds a state and returns it.
func (m *matcher) state() int {
	m.next = append(m.next, make([]uint16, m.n)...)
	m.says = append(m.says, 0)
	return len(m.says) - 1
}

// link sends each state, where no word goes on, to that of the longest end of
// what was read.
func (m *matcher) link() {
	fail := make([]uint16, len(m.says))
	var queue []int
	for c := range m.n {
		if to := m.next[c]; to != 0 {
			queue = append(queue, int(to))
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		m.says[at] |= m.says[fail[at]]
		for c := range m.n {
			to := &m.next[at*m.n+c]
			back := m.next[int(fail[at])*m.n+c]
			if *to == 0 {
				*to = back
				continue
			}
			fail[*to] = back
			queue = append(queue, int(*to))
		}
	}
}

// read goes on from state at with b, and returns the topics of b and the state
// after it. Blanks and ends of lines count as one blank.
func (m *matcher) read(at int, b []byte) (topic, int) {
	var out topic
	blank := m.class[' ']
	last := blank + 1
	for _, c := range b {
		class := m.class[c]
		if class == blank && last == blank {
			continue
		}
		last = class
		at = int(m.next[at*m.n+int(class)])
		out |= m.says[at]
	}
	return out, at
}
