/* core/boot/uid_proof.c: how the two ends of a connection prove to each other that they know the secret of a unique id,
 * and what else derives from that secret. Each use has a label of its own, so that its tag is valid for no other use.
 * See uid_wire.h. */
#include "core/boot/uid_wire.h"

#include <stdio.h>
#include <string.h>

/* The input of a tag, without padding: it covers a hello up to the hello's own tag. */
struct spoken {
    char word[16];
    struct ist_uid_challenge challenge;
    struct ist_uid_hello hello;
};
_Static_assert(sizeof(struct ist_uid_challenge) == 20 && sizeof(struct ist_uid_hello) % 4 == 0,
               "no gaps in what is tagged");

static void tag_spoken(const struct ist_uid *uid, const char *word, const struct ist_uid_challenge *challenge,
                       const struct ist_uid_hello *hello, uint8_t out[IST_TAG_BYTES])
{
    struct spoken spoken = {.challenge = *challenge, .hello = *hello};
    memcpy(spoken.word, word, strlen(word));
    memset(spoken.hello.tag, 0, sizeof spoken.hello.tag);
    ist_mac(uid->secret, &spoken, sizeof spoken, out);
}

void ist_uid_tag_hello(const struct ist_uid *uid, const struct ist_uid_challenge *challenge,
                       const struct ist_uid_hello *hello, uint8_t out[IST_TAG_BYTES])
{
    tag_spoken(uid, "hello", challenge, hello, out);
}

void ist_uid_tag_server(const struct ist_uid *uid, const struct ist_uid_challenge *challenge,
                        const struct ist_uid_hello *hello, uint8_t out[IST_TAG_BYTES])
{
    tag_spoken(uid, "server", challenge, hello, out);
}

/* The name is public (a socket's name) and reveals nothing about the secret. */
void ist_uid_name(const struct ist_uid *uid, char out[IST_UID_NAME_BYTES])
{
    static const char word[16] = "name";
    char tag[IST_TAG_TEXT_BYTES];
    ist_mac_text(uid->secret, word, sizeof word, tag);
    snprintf(out, IST_UID_NAME_BYTES, "uid-%.16s", tag);
}

void ist_uid_gate_name(const struct ist_uid *uid, const struct isthmus_host_id *host, char out[IST_UID_GATE_BYTES])
{
    struct {
        char word[16];
        struct isthmus_host_id host;
        uint8_t port[2];
    } spoken = {.word = "gate", .host = *host};
    char tag[IST_TAG_TEXT_BYTES];
    memcpy(spoken.port, uid->port, sizeof spoken.port); /* two session ids may have one secret */
    ist_mac_text(uid->secret, &spoken, sizeof spoken, tag);
    snprintf(out, IST_UID_GATE_BYTES, "isthmus-%.32s", tag);
}
