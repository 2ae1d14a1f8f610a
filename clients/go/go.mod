module messagingcrm

go 1.19
