/**
 * What common passwords are made of, in lower case. Words that people choose for passwords, not words of the
 * language: a sentence of ordinary words is a good password.
 */
export const COMMON_WORDS: readonly string[] = `
  password passwort passwd passw0rd pass word passphrase motdepasse contrasena senha wachtwoord kennwort
  admin administrator administrador administrateur root superuser sysadmin operator manager user username
  login guest test tester testing demo example sample temp temporary default system service account owner
  office secret secure security private access changeme changeit change please replace updateme letmein
  welcome willkommen bienvenue hello hallo opensesame sesame enter trustno trustno1 whatever nothing
  iloveyou loveyou lovely love forever always together sweet sweetheart princess angel babygirl baby honey
  sunshine rainbow butterfly flower summer winter spring autumn monday friday january december
  monkey dragon tiger lion eagle panther falcon phoenix unicorn dolphin kitten puppy chicken
  football baseball basketball soccer hockey liverpool arsenal chelsea barcelona juventus yankees lakers
  superman batman spiderman ironman pokemon starwars matrix harrypotter minecraft master ninja samurai hunter
  shadow killer warrior legend hacker gangster freedom blessed jesus christ jesuschrist
  michael jordan jennifer jessica charlie daniel thomas andrew joshua matthew ashley nicole robert
  computer internet network server windows microsoft google apple samsung linux ubuntu oracle mysql postgres
  database cisco router wireless wifi laptop desktop android iphone facebook company business enterprise
  corporate production staging development support helpdesk berth license licence licensing floating software
  qwerty qwertz azerty asdf asdfgh zxcvbn qazwsx abc xyz
  correcthorsebatterystaple thisisapassword mypassword mypass newpassword
`
  .trim()
  .split(/\s+/);
