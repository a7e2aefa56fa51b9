/* core/base/privileged.h: programs that have more rights than their caller (setuid, setgid, file capabilities).
 * Their own variables: config.c. Here are those of the libraries below, which load files that variables name. */
#ifndef IST_BASE_PRIVILEGED_H
#define IST_BASE_PRIVILEGED_H

/* At the first init, before any of them looks: in such a program their variables are taken out of the environment, as the
 * dynamic linker does with its own. Nothing happens in others. */
void ist_privileged_clean_environment(void);

#endif
